"""Drivers that run in the cluster: how the application of an ended job is ended there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any

from launchers.spark.document import secret_conf, submit_words


def ending_command(document: Mapping[str, Any], application: str) -> list[str]:
    """The command line that ends the application; empty where nothing here can end it.

    Args:
        application: YARN's id, or ``NAMESPACE:POD`` of Kubernetes' driver.
    """
    if document["master"] == "yarn":
        yarn = _yarn()
        return [yarn, "application", "-kill", application] if yarn else []
    # Spark on Kubernetes, "Spark Application Management": spark-submit ends drivers by their pods.
    command = [submit_words(document)[0], "--kill", application, "--master", document["master"]]
    hidden = secret_conf(document)
    for name, value in document["conf"].items():
        # By which context and as whom the API server is asked.
        if name.startswith("spark.kubernetes.") and name not in hidden:
            command += ["--conf", f"{name}={value}"]
    return command


def _yarn() -> str:
    home = os.environ.get("HADOOP_HOME")
    own = os.path.join(home, "bin", "yarn") if home else ""
    return own if own and os.access(own, os.X_OK) else shutil.which("yarn") or ""

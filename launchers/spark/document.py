"""Reading a job's document: what spark-submit is started with, in words and in variables."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from launchers.core.records import nonce

KIND = "launch/spark"
# The folder of agent, guard and source beside every executor.
CODE = "launch_code"


def secret_conf(document: Mapping[str, Any]) -> dict[str, str]:
    """The properties that no command line may show: a driver's nonce in cluster mode."""
    return {
        name: value for name, value in document["conf"].items() if name.endswith(nonce.VARIABLE)
    }


def submit_words(document: Mapping[str, Any], properties: str = "") -> list[str]:
    """The words that start the job, the program first.

    Args:
        properties: The file that has :func:`secret_conf`; without one they stand in the words,
            which is for a document without a real nonce alone.
    """
    hidden = secret_conf(document) if properties else {}
    words = [os.path.join(document["spark_home"], "bin", "spark-submit")]
    words += ["--master", document["master"], "--deploy-mode", document["deploy_mode"]]
    words += ["--name", document["name"]]
    words += ["--properties-file", properties] if properties else []
    for name, value in document["conf"].items():
        words += ["--conf", f"{name}={value}"] if name not in hidden else []
    for flag, places in (("--files", document["files"]), ("--archives", document["archives"])):
        words += [flag, ",".join(places)] if places else []
    return [*words, document["application"], *document["arguments"]]


def submit_environment(document: Mapping[str, Any]) -> dict[str, str]:
    """The variables of spark-submit besides those of this shell."""
    return {"SPARK_HOME": document["spark_home"], **document["environment"]}


def submit_line(document: Mapping[str, Any]) -> str:
    """The same as one line for a shell; of a document without a real nonce."""
    variables = [
        f"{name}={shlex.quote(value)}" for name, value in submit_environment(document).items()
    ]
    return " ".join([*variables, shlex.join(submit_words(document))])

"""Where Spark lies on the driver's machine. Nothing of Spark is imported or started."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from launchers.core.model.problems import Problem
from launchers.machine.python_environment import PythonEnvironment
from launchers.spark.catalogue import RULES

_CORE_JAR = re.compile(r"spark-core_[\d.]+-(\d[\w.]*?)\.jar")


@dataclass(frozen=True)
class SparkHome:
    """One installation of Spark.

    Attributes:
        path: Its folder, absolute; empty where none was found.
        origin: Where the choice came from.
        version: As its core library has it; empty where that is not there.
    """

    path: str = ""
    origin: str = ""
    version: str = ""

    @property
    def release(self) -> tuple[int, ...]:
        """Major and minor version; empty where unknown."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:2])


def find_spark(named: str | None, python: PythonEnvironment) -> tuple[SparkHome, list[Problem]]:
    """``--spark-home``, else SPARK_HOME, else the pyspark package of the driver's Python, else
    what the ``spark-submit`` on PATH belongs to. What is named and is no Spark is a problem; so is
    none at all."""
    for origin, place in (("--spark-home", named), ("SPARK_HOME", os.environ.get("SPARK_HOME"))):
        if not place:
            continue
        home = os.path.abspath(os.path.expanduser(place))
        if _is_spark(home):
            return SparkHome(home, origin, version_of(home)), []
        where = origin if origin.startswith("--") else f"${origin}"
        found = f"{home} (has no bin/spark-submit and jars/)"
        return SparkHome(home, origin), [RULES["spark-home"].at(where, found)]
    if python.pyspark_folder and _is_spark(python.pyspark_folder):
        origin = f"pyspark of {python.path}"
        return SparkHome(python.pyspark_folder, origin, version_of(python.pyspark_folder)), []
    on_path = _of_command(shutil.which("spark-submit"))
    if on_path:
        return SparkHome(on_path, "spark-submit on PATH", version_of(on_path)), []
    missing = f"neither SPARK_HOME, nor pyspark in {python.path}, nor spark-submit on PATH"
    return SparkHome(), [RULES["spark-home"].at("--spark-home", missing)]


def _is_spark(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "bin", "spark-submit")) and os.path.isdir(
        os.path.join(folder, "jars")
    )


def _of_command(command: str | None) -> str:
    """The installation of a ``spark-submit``: the folder above its own, or the package of the
    environment in whose ``bin`` pip has put it."""
    if not command:
        return ""
    above = Path(os.path.realpath(command)).parent.parent
    packages = sorted(above.glob("lib/python3*/site-packages/pyspark"))
    return next((str(one) for one in (above, *packages) if _is_spark(str(one))), "")


def version_of(home: str) -> str:
    """As the core library below ``home`` has it; empty where that is not there."""
    try:
        names = os.listdir(os.path.join(home, "jars"))
    except OSError:
        return ""
    found = (_CORE_JAR.fullmatch(name) for name in names)
    return next((match[1] for match in found if match), "")

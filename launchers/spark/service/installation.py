"""What spark-submit needs on this machine: its scripts, Java, and the driver's Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from launchers.core.model.problems import Problem
from launchers.core.strategies import FIRST, said_by
from launchers.spark.catalogue import RULES
from launchers.spark.planning.spark_home import version_of
from launchers.spark.service.reading import is_in_cluster, rank_environment_of
from launchers.spark.service.users_conf import sets_variable

_SECONDS = 60  # of a program that only says its version, on a loaded machine
_QUOTED_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?[^"]*"')
_LIBRARIES = ("pyspark", "pyarrow", "pandas")
# Beside PySpark: horovod.spark imports PyArrow; TorchDistributor hands rows over by both.
_NEEDED: Mapping[str, tuple[str, ...]] = {"horovod": ("pyarrow",), "torch": ("pyarrow", "pandas")}
_QUESTION = """
import json
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except Exception:
        return None
print(json.dumps({name: version(name) for name in %r}))
"""


def submit_problems(spark_home: str) -> list[Problem]:
    """Whether spark-submit is there and may be run."""
    program = os.path.join(spark_home, "bin", "spark-submit")
    if os.access(program, os.X_OK):
        return []
    reason = "may not be run" if os.path.exists(program) else "is not there"
    return [RULES["spark-submit"].at(program, f"it {reason}")]


def java_program() -> str:
    """The Java that spark-submit takes: JAVA_HOME's, else that on PATH; empty where there is
    none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        program = os.path.join(home, "bin", "java")
        return program if os.access(program, os.X_OK) else ""
    return shutil.which("java") or ""


def java_version(program: str) -> int | None:
    """A Java's major version, 8 for ``1.8``; None where it does not say. Starts it."""
    try:
        done = subprocess.run(
            [program, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _QUOTED_VERSION.search(done.stderr + done.stdout)
    if not found:
        return None
    return int(found[2]) if found[1] == "1" and found[2] else int(found[1])


def java_problems(spark_home: str) -> list[Problem]:
    """Whether there is a Java that this Spark runs on. Starts it once; one that spark-env.sh names
    is left to spark-submit."""
    if sets_variable(spark_home, "JAVA_HOME"):
        return []
    spark = version_of(spark_home)
    fits = javas().get(".".join(spark.split(".")[:2]), ())
    wanted = f"Java {', '.join(map(str, fits)) or 17} for Spark {spark}".rstrip()
    home, program = os.environ.get("JAVA_HOME"), java_program()
    where = "$JAVA_HOME" if home else "java"
    if not program:
        found = f"{home} has no bin/java" if home else "none on PATH, and JAVA_HOME is not set"
        return [RULES["spark-java"].at(where, found, wanted)]
    version = java_version(program)
    if version is None:
        return [RULES["spark-java"].at(where, f"{program} does not say its version", wanted)]
    if fits and version not in fits:
        return [RULES["spark-java"].at(where, f"Java {version} ({program})", wanted)]
    return []


@cache
def javas() -> Mapping[str, tuple[int, ...]]:
    """Spark's major and minor version -> the Java versions that it runs on."""
    table = json.loads(Path(__file__).with_name("java.json").read_text("utf-8"))
    return {spark: tuple(versions) for spark, versions in table["versions"].items()}


def python_problems(document: Mapping[str, Any]) -> list[Problem]:
    """What a driver on this machine lacks. Starts its Python once; imports nothing of Spark."""
    if is_in_cluster(document):
        return []
    strategy = said_by(rank_environment_of(document)) or FIRST
    return library_problems(document["driver_python"], document["spark_home"], strategy)


def library_problems(python: str, spark_home: str, strategy: str) -> list[Problem]:
    """What a Python lacks that a driver of that strategy runs in. Starts it once."""
    found = libraries_of(python)
    if found is None:
        return [RULES["spark-driver-python"].at("--python", f"{python} cannot be run")]
    problems = []
    missing = [name for name in _NEEDED.get(strategy, ()) if not found[name]]
    if missing:
        found_there = f"{python} has no {' and no '.join(missing)}"
        problems.append(RULES["spark-pyarrow"].at("--python", found_there))
    spark, own = version_of(spark_home), found["pyspark"]
    if spark and own and own != spark:
        problems.append(
            RULES["spark-pyspark"].at(
                "--python", f"{python} has PySpark {own}", f"PySpark {spark}, as --spark-home has"
            )
        )
    return problems


def libraries_of(python: str) -> dict[str, str | None] | None:
    """The versions of PySpark, PyArrow and pandas in a Python, None for one that is missing; None
    where it cannot be run."""
    try:
        done = subprocess.run(
            [python, "-c", _QUESTION % (_LIBRARIES,)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        answer: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    return answer

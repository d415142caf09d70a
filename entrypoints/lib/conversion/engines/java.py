"""The Java that PySpark would start, and whether it can run that Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Mapping

from ...errors import TrainingError

# Spark's documentation, "Overview": 3.5 runs on Java 8, 11 and 17, 4.0 on 17 and 21. Hadoop in 3.5
# calls Subject.getSubject, which Java refuses since 24 (JEP 486).
OLDEST = {3: 8, 4: 17}
NEWEST = {3: 23}
SECONDS = 30


def require(spark: str, environment: Mapping[str, str] = os.environ) -> str:
    """The path of the Java that Spark release ``spark`` would start; blocks while it is asked.

    Raises:
        TrainingError: There is none, it doesn't start, or Spark doesn't run on it.
    """
    home = environment.get("JAVA_HOME")
    # As Spark's own bin/spark-class looks for it.
    path = os.path.join(home, "bin", "java") if home else "java"
    found = shutil.which(path, path=environment.get("PATH"))
    if found is None:
        where = f"JAVA_HOME is {home}, and has no bin/java" if home else "no java on PATH"
        raise TrainingError(f"--engine spark: {where}; expected {_expected(spark)}. {_fix()}")
    said = _version_text(found)
    version = major(said)
    series = int(spark.split(".", 1)[0])
    if not OLDEST.get(series, 8) <= version <= NEWEST.get(series, version):
        what = f"Java {version}" if version else f"no Java: {(said.splitlines() or ['silent'])[0]}"
        raise TrainingError(
            f"--engine spark: {found} is {what}; expected {_expected(spark)}. {_fix()}"
        )
    return found


def major(said: str) -> int:
    """The release in what `java -version` says, 8 for "1.8.0_392"; 0 where there is none."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else 0


def _expected(spark: str) -> str:
    return f"{'Java 17 or 21' if spark.startswith('4') else 'Java 8, 11 or 17'} for Spark {spark}"


def _fix() -> str:
    return (
        "Install one (Debian: apt-get install openjdk-17-jre-headless) and name it: "
        "export JAVA_HOME=/usr/lib/jvm/..."
    )


def _version_text(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout.decode("utf-8", "replace")

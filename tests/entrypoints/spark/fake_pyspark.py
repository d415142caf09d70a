"""A PySpark for the driver program: its configuration, and a session that does what it is told.

FAKE_SPARK says what becomes of the session: ``silent`` (no cluster accepts it), ``interrupted``
(by Ctrl-C, once PySpark's own handler is there), ``empty`` (no executor comes) or ``again`` (empty,
and started once more by the cluster).
"""

from __future__ import annotations

import sys
from pathlib import Path

_PYSPARK = """\
import json, os

class SparkConf:
    def getAll(self):
        return json.loads(os.environ["FAKE_CONF"]).items()

class SparkContext:
    _ensure_initialized = classmethod(lambda cls: None)
"""
_SQL = """\
import os, signal, time
from tests.entrypoints.spark.made import session

def interrupt(*_):
    raise KeyboardInterrupt

class Builder:
    def config(self, name, value):
        return self

    def getOrCreate(self):
        how = os.environ["FAKE_SPARK"]
        if how == "silent":
            time.sleep(3600)
        signal.signal(signal.SIGINT, interrupt)  # as PySpark's SparkContext does
        if how == "interrupted":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(3600)
        return session([], attempt="2" if how == "again" else None)

class SparkSession:
    builder = Builder()
"""


def write(folder: Path, entrypoints: Path) -> list[str]:
    """Writes it, and gives what starts the driver program with it."""
    package = folder / "pyspark"
    package.mkdir()
    (package / "__init__.py").write_text(_PYSPARK)
    (package / "sql.py").write_text(_SQL)
    return [sys.executable, str(entrypoints / "spark_driver.py"), "train.py"]

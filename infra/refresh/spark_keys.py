"""Makes launchers/core/spark/spark_keys.json: the properties that Spark itself knows.

Asks the classes of the installed PySpark, so a JVM starts. Those of SQL are left out, which no
rank depends on.
"""

from __future__ import annotations

import argparse
from typing import Any

from infra.refresh.files import CLONE, Document, main, version_of

FILE = CLONE / "launchers" / "core" / "spark" / "spark_keys.json"
_CORE = "org.apache.spark.internal.config"
_PARTS = "package Deploy History Kryo Network Python R Status Streaming UI Worker"
# Each registers its properties when it is loaded.
_OBJECTS = (
    *(f"{_CORE}.{name}$" for name in _PARTS.split()),
    "org.apache.spark.deploy.k8s.Config$",
    "org.apache.spark.deploy.yarn.config.package$",
    "org.apache.spark.streaming.StreamingConf$",
)
# SparkConf and SparkSubmit read these without such an entry ("Configuration", "Submitting
# Applications").
_BARE = (
    "spark.app.name",
    "spark.home",
    "spark.jars.excludes",
    "spark.jars.ivy",
    "spark.jars.ivySettings",
    "spark.jars.packages",
    "spark.jars.repositories",
    "spark.master",
)


def keys_of_spark() -> list[str]:
    """Every property that an entry of Spark's code has, without those of Spark's own tests. Blocks
    while a JVM starts."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf().setMaster("local[1]").set("spark.ui.enabled", "false")
    context = SparkContext(conf=conf)
    try:
        jvm: Any = context._jvm
        for name in _OBJECTS:
            jvm.java.lang.Class.forName(name)
        companion = getattr(
            getattr(jvm.org.apache.spark.internal.config, "ConfigEntry$"), "MODULE$"
        )
        found = {str(key) for key in companion.knownConfigs().keySet()}
    finally:
        context.stop()
    left_out = ("spark.sql.", "spark.test")
    return sorted(
        {*_BARE, *(key for key in found if key[:6] == "spark." and not key.startswith(left_out))}
    )


def make(_: argparse.Namespace, __: Document) -> Document:
    """The file's content."""
    source = f"ConfigEntry.knownConfigs of pyspark {version_of('pyspark')}"
    return {"sources": [source], "date": "", "keys": keys_of_spark()}


if __name__ == "__main__":
    raise SystemExit(main("infra.refresh.spark_keys", FILE, make))

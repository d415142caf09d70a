"""Properties whose names are misspelt: Spark takes any name and says nothing."""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from pathlib import Path

from launchers.core.model.problems import Problem, Severity
from launchers.core.spark.catalogue import RULES
from launchers.core.spark.conf import Executors, settled, size_conf

# What follows these is anybody's.
_FREE = (
    "spark.databricks.",
    "spark.executorEnv.",
    "spark.hadoop.",
    "spark.kubernetes.driverEnv.",
    "spark.launch.",
    "spark.metrics.conf.",
    "spark.rapids.",
    "spark.sql.",
    "spark.yarn.appMasterEnv.",
)
# Devices that are no GPU: NPUs, TPUs and their kin.
_DEVICE = re.compile(r"spark\.[a-z]+\.resource\.(?!gpu\.)[a-z]pu\.[A-Za-z]+")
# So alike are two names of which one is a slip of the other; of Spark's own names none is so like
# one that decides the ranks.
_ALIKE = 0.93


def misspelt(key: str, where: str) -> list[Problem]:
    """A problem where ``key`` is nearly a property of Spark, and none; an error where that one
    decides how many ranks are started or how often, else a warning."""
    known = _known()
    is_free = key.startswith(_FREE) or _DEVICE.fullmatch(key)
    if key in known or (is_free and key.lower() not in _folded()):
        return []
    near = _folded().get(key.lower(), "")
    if not near:
        matches = difflib.get_close_matches(key, known, n=1, cutoff=_ALIKE)
        near = matches[0] if matches else ""
    if not near:
        return []
    severity: Severity | None = None if near in _deciding() else "warning"
    fix = f"did you mean {near}?"
    return [RULES["spark-conf-misspelt"].at(where, "no property of Spark", near, fix, severity)]


@cache
def _known() -> frozenset[str]:
    """Every property of Spark, and those of the GPUs, which have the resource in their name."""
    table = json.loads(Path(__file__).with_name("spark_keys.json").read_bytes())
    return frozenset(table["keys"]) | _deciding()


@cache
def _folded() -> dict[str, str]:
    return {key.lower(): key for key in _known()}


@cache
def _deciding() -> frozenset[str]:
    most = Executors(1, 1, gpus=1, barrier=True)
    return frozenset(settled(most, "yarn")) | frozenset(size_conf(most))

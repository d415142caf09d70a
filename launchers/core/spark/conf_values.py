"""Properties whose values decide how many ranks are started, how often, and with which GPUs: in
what a user gives, and in a whole document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from launchers.core.model.problems import Problem
from launchers.core.model.rules import Rule
from launchers.core.rules.model_check import shown
from launchers.core.spark import keys
from launchers.core.spark.catalogue import RULES
from launchers.core.spark.conf import Executors, settled, size_conf, whole
from launchers.core.spark.master import Kind

_UNITS = {"": 1, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_GPU_KEYS = (keys.TASK_GPUS, keys.EXECUTOR_GPUS)
_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,15})?)\s*([a-z]{0,3})")
_FRACTION = re.compile(r"[0-9]{0,15}\.[0-9]{1,15}")


def problems_in_values(
    conf: Mapping[str, str],
    executors: Executors,
    kind: Kind | None,
    where: Callable[[str], str],
) -> list[Problem]:
    """One problem for each value that is contrary to what the job asks for; a property that is not
    there makes none.

    Args:
        where: The path of a property in a message.
    """
    wanted = {
        **size_conf(executors),
        **settled(executors, kind),
        keys.APP_ATTEMPTS: "1",
        keys.SUPERVISE: "false",
        keys.EXCLUSION: "false",
    }
    problems = []
    for key, value in conf.items():
        if key == keys.TASK_CPUS:
            wrong, expected = whole(value) is None, None
        elif key in wanted and key not in _GPU_KEYS:
            wrong, expected = not same(value, wanted[key]), wanted[key]
        else:
            continue
        if wrong:
            problems.append(_rules()[key].at(where(key), shown(value), expected))
    return [*problems, *_in_gpus(conf, executors, where)]


def problems_in_missing(
    conf: Mapping[str, str],
    executors: Executors,
    kind: Kind | None,
    where: Callable[[str], str],
) -> list[Problem]:
    """One problem for each property that a whole document must say: what it does not say, the
    driver's machine (conf/spark-defaults.conf) decides, or a default of Spark's that starts failed
    ranks again."""
    wanted = settled(executors, kind)
    return [
        _rules()[key].at(where(key), "missing", value)
        for key, value in wanted.items()
        # A task has one core where nobody says how many.
        if key not in conf and not (key == keys.TASK_CPUS and value == "1")
    ]


def _in_gpus(
    conf: Mapping[str, str], executors: Executors, where: Callable[[str], str]
) -> Iterator[Problem]:
    """GPUs: each executor has those of ``--gpus``, each task one of them."""
    task = "1" if executors.gpus else "0"
    both = {keys.EXECUTOR_GPUS: str(executors.gpus), keys.TASK_GPUS: task}
    for key, other in (_GPU_KEYS, _GPU_KEYS[::-1]):
        if key not in conf:
            continue
        value = conf[key]
        quantity = _FRACTION.fullmatch(value.strip())
        if quantity and float(quantity[0]) % 1:
            yield RULES["spark-gpu-fraction"].at(where(key), shown(value))
        elif same(value, both[key]):
            continue
        elif other not in conf and not executors.gpus:
            found = f"{shown(value)} without {other}"
            yield RULES["spark-gpu-sides"].at(where(key), found)
        else:
            expected = f"{both[key]}, by --gpus" if executors.gpus else "none, by --gpus 0"
            yield RULES["spark-gpu-amount"].at(where(key), shown(value), expected)


def same(value: str, wanted: str) -> bool:
    """Whether Spark reads both as the same: ``True`` and ``true``, ``1`` and ``1.0``, ``5m`` and
    ``300s``."""
    value, wanted = value.strip(), wanted.strip()
    if value.lower() == wanted.lower():
        return True
    quantities = _QUANTITY.fullmatch(value.lower()), _QUANTITY.fullmatch(wanted.lower())
    if not quantities[0] or not quantities[1]:
        return False
    amounts = [
        (float(one[1]) * _UNITS[one[2]], bool(one[2]))
        for one in quantities
        if one and one[2] in _UNITS
    ]
    return len(amounts) == 2 and amounts[0] == amounts[1]


@cache
def _rules() -> dict[str, Rule]:
    """The rule that each of these properties belongs to."""
    size, retries = RULES["spark-size"], RULES["spark-retries"]
    barrier, sides = RULES["spark-barrier"], RULES["spark-gpu-sides"]
    return {
        keys.DYNAMIC_ALLOCATION: RULES["spark-dynamic-allocation"],
        keys.SPECULATION: RULES["spark-speculation"],
        keys.TASK_FAILURES: retries,
        keys.STAGE_ATTEMPTS: retries,
        keys.APP_ATTEMPTS: retries,
        keys.SUPERVISE: retries,
        keys.EXCLUSION: retries,
        keys.REGISTERED_SECONDS: RULES["spark-registration"],
        keys.BARRIER_INTERVAL: barrier,
        keys.BARRIER_FAILURES: barrier,
        keys.EXECUTOR_INSTANCES: size,
        keys.EXECUTOR_CORES: size,
        keys.CORES_MAX: size,
        keys.TASK_CPUS: RULES["spark-task-cpus"],
        keys.EXECUTOR_GPUS: sides,
        keys.TASK_GPUS: sides,
        keys.REDACTION: RULES["spark-redaction"],
    }

"""Which properties a user may give by ``--conf``: all but those that change how many ranks there
are, how often they are started, or what a flag says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from launchers.core.model.problems import Problem
from launchers.core.rules.environment import problems_in_names
from launchers.core.rules.model_check import shown
from launchers.core.spark import keys
from launchers.core.spark.catalogue import RULES
from launchers.core.spark.conf import Executors
from launchers.core.spark.conf_credentials import credentials_in_conf
from launchers.core.spark.conf_names import misspelt
from launchers.core.spark.conf_values import problems_in_values, same
from launchers.core.spark.master import Kind

# Properties that are another spelling of a flag.
_FLAGS = {
    keys.MASTER: "--master",
    keys.REMOTE: "--master",
    keys.DEPLOY_MODE: "--deploy-mode",
    keys.APP_NAME: "--name",
    keys.ARCHIVES: "--archive",
    keys.YARN_ARCHIVES: "--archive",
}
_OURS = {
    keys.SLOTS_SECONDS: "use --limit slots=TIME",
    keys.START_SECONDS: "use --limit start=TIME",
    keys.GPUS: "use --gpus",
    keys.EXECUTABLE: "use --worker-python, or --archive for an environment that travels",
}
_PYTHONS = (keys.PYTHON, keys.DRIVER_PYTHON)
_PYTHON_VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
_IMAGES = (keys.CONTAINER_IMAGE, "spark.kubernetes.executor.container.image")
_OTHER_RESOURCE = re.compile(r"spark\.task\.resource\.(?!gpu\.)([^.]+)\.amount")


def problems_in_conf(
    given: Mapping[str, str],
    executors: Executors,
    kind: Kind | None,
    path: str = "--conf ",
    allowed: Collection[str] = (),
    environment: Mapping[str, str] | None = None,
) -> list[Problem]:
    """One problem for each property that may not be given; a harmless one makes none, nor does one
    that says what is set anyway.

    Args:
        executors: What the job's flags ask for.
        kind: Of its cluster; None where ``--master`` is no good.
        path: What stands before a property's name.
        allowed: Names that ``--allow-value`` lets pass although they look like credentials.
        environment: The variables of ``--env``, which win.
    """
    problems: list[Problem] = []
    for key, value in given.items():
        named = list(_in_request(key, value, f"{path}{key}"))
        name = key.removeprefix(keys.EXECUTOR_ENV)
        if name != key and (environment or {}).get(name, value) != value:
            found = f"another value than that of --env {name}"
            named.append(
                RULES["spark-conf-flag"].at(f"{path}{key}", found, fix=f"use --env {name} alone")
            )
        problems += named or misspelt(key, f"{path}{key}")
    for name in _PYTHON_VARIABLES:
        if name in (environment or {}):
            problems.append(RULES["spark-conf-python"].at(f"--env {name}", "a Python"))
    problems += problems_in_values(given, executors, kind, lambda key: f"{path}{key}")
    problems += problems_in_needs(given, executors, kind)
    return [*problems, *credentials_in_conf(given, lambda key: f"{path}{key}", allowed)]


def problems_in_needs(
    given: Mapping[str, str], executors: Executors, kind: Kind | None
) -> Iterator[Problem]:
    """What a cluster manager needs besides, and nobody gave."""
    if kind == "kubernetes" and not any(one in given for one in _IMAGES):
        yield RULES["spark-image"].at("--image", "none")
    if executors.gpus and kind in keys.DRIVER_ENV and keys.GPU_DISCOVERY not in given:
        found = f"{executors.gpus}, and no discovery script"
        yield RULES["spark-gpu-discovery"].at("--gpus", found)


def problems_in_name(key: str, value: str, where: str) -> Iterator[Problem]:
    """What is wrong with a property by its name alone, in a request and in a whole document.

    Args:
        where: Its path in a message.
    """
    variable = keys.variable_of(key)
    if not key.startswith("spark."):
        yield RULES["spark-conf-name"].at(where, "a name that does not begin with spark.")
    elif variable in _PYTHON_VARIABLES:
        yield RULES["spark-conf-python"].at(where, shown(value))
    elif _OTHER_RESOURCE.fullmatch(key) and not same(value, "0"):
        resource = _OTHER_RESOURCE.sub(r"\1", key)
        yield RULES["spark-other-resource"].at(where, f"{shown(value)} {resource} a task")
    elif key in keys.WAIT.values() and value.strip().lower() != "true":
        yield RULES["spark-conf-wait"].at(where, shown(value))


def problems_in_variable(key: str, value: str, where: str) -> Iterator[Problem]:
    """What is wrong with a property that sets a variable, by the variable's name and value."""
    variable = keys.variable_of(key)
    if variable and variable not in _PYTHON_VARIABLES:
        for problem in problems_in_names({variable: value}):
            yield replace(problem, path=where)


def _in_request(key: str, value: str, where: str) -> Iterator[Problem]:
    """The same, and what the flags say or the launcher sets."""
    if key in _FLAGS:
        yield RULES["spark-conf-flag"].at(where, shown(value), fix=f"use {_FLAGS[key]}")
    elif key.startswith(keys.OURS):
        name = key.removeprefix(keys.OURS)
        fix = _OURS.get(name, "leave it out")
        yield RULES["spark-conf-ours"].at(where, "a property of the driver program", fix=fix)
    elif key in _PYTHONS:
        yield RULES["spark-conf-python"].at(where, shown(value))
    else:
        yield from problems_in_name(key, value, where)
        yield from problems_in_variable(key, value, where)

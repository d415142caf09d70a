"""Every rule that a job's document must keep, ours or one that was changed by hand. Pure.

The shape comes first, then what is read in the parts that are well. All problems are reported.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from launchers.core.credentials.search import problems_in_arguments, problems_in_environment
from launchers.core.model.problems import Problem
from launchers.core.records import nonce
from launchers.core.rules.environment import problems_in_proof
from launchers.core.rules.model_check import place, shown
from launchers.core.spark import keys
from launchers.core.spark.conf import NUMBER, whole
from launchers.core.spark.conf_credentials import credentials_in_conf
from launchers.core.spark.conf_names import misspelt
from launchers.core.spark.conf_rules import (
    problems_in_name,
    problems_in_needs,
    problems_in_variable,
)
from launchers.core.spark.conf_values import problems_in_missing, problems_in_values
from launchers.core.spark.master import Master, read_master
from launchers.spark.catalogue import RULES
from launchers.spark.document import CODE, KIND
from launchers.spark.rules.masters import Words, problems_in_master, problems_in_upload
from launchers.spark.rules.paths import problems_in_place
from launchers.spark.rules.shape import problems_in_shape
from launchers.spark.rules.size import Size, problems_in_size, read_size

DRIVER = "spark_driver.py"
_PLACES = Words("$.master", "$.deploy_mode", "$.conf", "$.conf")
# Spark reads these from its own flags, which spark-submit gets from the document.
_FLAGS = {
    keys.MASTER: "$.master",
    keys.REMOTE: "$.master",
    keys.DEPLOY_MODE: "$.deploy_mode",
    keys.APP_NAME: "$.name",
    keys.ARCHIVES: "$.archives",
    keys.YARN_ARCHIVES: "$.archives",
}
_SECONDS = (keys.SLOTS_SECONDS, keys.START_SECONDS)
_SETTINGS = (*_SECONDS, keys.GPUS, keys.RESULT, keys.EXECUTABLE)


def recognises(document: Mapping[str, Any]) -> bool:
    """Whether it is one of ours, right or wrong: by its kind, or by the parts that no other tool's
    document has together."""
    if document.get("kind") == KIND:
        return True
    return all(key in document for key in ("master", "conf", "application"))


def check(
    document: Mapping[str, Any],
    allowed: Collection[str] = (),
    world_size: int | None = None,
) -> list[Problem]:
    """Every rule that the document breaks, with its path in the document.

    Args:
        allowed: Names that ``--allow-value`` lets pass although they look like credentials.
        world_size: What the caller expects, where it says so.
    """
    conf, master = texts(document, "conf"), master_of(document)
    size = read_size(conf, master)
    return list(
        dict.fromkeys(
            [
                *problems_in_shape(document),
                *_in_master(document, conf, size),
                *problems_in_size(conf, size, world_size),
                *_in_conf(conf, size, master),
                *_in_settings(conf),
                *_in_pythons(document, conf),
                *_in_variables(conf),
                *_in_nonce(document, conf),
                *_in_program(document),
                *_in_upload(document, conf),
                *_credentials(document, conf, allowed),
            ]
        )
    )


def texts(document: Mapping[str, Any], key: str) -> dict[str, str]:
    """What is text in the object under ``key``."""
    found = document.get(key)
    entries = found.items() if isinstance(found, Mapping) else ()
    return {k: v for k, v in entries if isinstance(k, str) and isinstance(v, str)}


def words(document: Mapping[str, Any], key: str) -> list[str]:
    """What is text in the list under ``key``."""
    found = document.get(key)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def master_of(document: Mapping[str, Any]) -> Master | None:
    """Its cluster; None where it names none."""
    text = document.get("master")
    return read_master(text) if isinstance(text, str) else None


def _at(key: str) -> str:
    return place("$.conf", key)


def _in_master(document: Mapping[str, Any], conf: Mapping[str, str], size: Size) -> list[Problem]:
    text, mode = document.get("master"), document.get("deploy_mode")
    if not isinstance(text, str) or not text.strip() or size.executors is None:
        return []
    mode = mode if isinstance(mode, str) else "client"
    return problems_in_master(text, mode, size.executors, conf, _PLACES)


def _in_conf(conf: Mapping[str, str], size: Size, master: Master | None) -> Iterator[Problem]:
    for key, value in conf.items():
        if key in _FLAGS:
            fix = f"{_FLAGS[key]} says it"
            yield RULES["spark-conf-flag"].at(_at(key), shown(value), _FLAGS[key], fix)
        yield from problems_in_name(key, value, _at(key))
        yield from misspelt(key, _at(key))
    if size.executors is not None and master is not None:
        yield from problems_in_values(conf, size.executors, master.kind, _at)
        yield from problems_in_missing(conf, size.executors, master.kind, _at)
        for problem in problems_in_needs(conf, size.executors, master.kind):
            yield replace(problem, path="$.conf")


def _in_settings(conf: Mapping[str, str]) -> Iterator[Problem]:
    """What the driver program reads for itself."""
    for key, value in conf.items():
        name = key.removeprefix(keys.OURS)
        if not key.startswith(keys.OURS):
            continue
        if name not in _SETTINGS:
            expected = ", ".join(_SETTINGS)
            yield RULES["model-key"].at(_at(key), "an unknown key", f"one of {expected}")
        elif name in _SECONDS and whole(value) is None:
            yield RULES["spark-driver-setting"].at(_at(key), shown(value), f"seconds: {NUMBER}")
        elif name == keys.GPUS and value != "0" and whole(value) is None:
            yield RULES["spark-driver-setting"].at(_at(key), shown(value), "GPUs of an executor")
    if not conf.get(keys.OURS + keys.RESULT, "").strip():
        found = "missing, so that nothing says how the job ended"
        expected = "the path of a file"
        yield RULES["spark-driver-setting"].at(_at(keys.OURS + keys.RESULT), found, expected)


def _in_pythons(document: Mapping[str, Any], conf: Mapping[str, str]) -> Iterator[Problem]:
    """One Python for executors and ranks; for a driver on this machine the one that is looked at
    before it starts, for one in the cluster the executors'."""
    python, ranks = conf.get(keys.PYTHON), conf.get(keys.OURS + keys.EXECUTABLE)
    if python is not None and ranks is not None and python != ranks:
        found = f"{shown(python)}, and {keys.OURS}{keys.EXECUTABLE} is {shown(ranks)}"
        yield RULES["spark-conf-python"].at(_at(keys.PYTHON), found, "the same Python")
    where, drivers = _at(keys.DRIVER_PYTHON), conf.get(keys.DRIVER_PYTHON)
    named = document.get("driver_python")
    master, in_cluster = master_of(document), document.get("deploy_mode") == "cluster"
    if in_cluster and master is not None and master.kind in keys.DRIVER_ENV:
        if drivers is not None:
            yield RULES["spark-conf-python"].at(where, shown(drivers))
    elif isinstance(named, str) and drivers != named:
        found = "missing" if drivers is None else shown(drivers)
        found = f"{found}, and $.driver_python is {shown(named)}"
        yield RULES["spark-conf-python"].at(where, found, "the same Python")


def _in_variables(conf: Mapping[str, str]) -> Iterator[Problem]:
    """The variables of the ranks, and of a driver in the cluster."""
    prefix = keys.EXECUTOR_ENV
    environment = {key[len(prefix) :]: conf[key] for key in conf if key.startswith(prefix)}
    for problem in problems_in_proof(environment, "$"):
        # Which strategies the driver starts is told with the size.
        if not problem.rule.startswith("strategy-"):
            yield replace(problem, path=_at(prefix + problem.path.removeprefix("$.")))
    for key, value in conf.items():
        name = keys.variable_of(key)
        ours = name.startswith("LAUNCH_") if key.startswith(prefix) else name == nonce.VARIABLE
        if not ours:
            yield from problems_in_variable(key, value, _at(key))


def _in_nonce(document: Mapping[str, Any], conf: Mapping[str, str]) -> Iterator[Problem]:
    """Where the key of the job's proof stands: with the driver, and with no rank."""
    key = keys.EXECUTOR_ENV + nonce.VARIABLE
    if key in conf:
        yield RULES["spark-nonce"].at(_at(key), "the job's nonce for every rank")
    master, in_cluster = master_of(document), document.get("deploy_mode") == "cluster"
    if in_cluster:
        if master is not None and master.kind in keys.DRIVER_ENV:
            key = keys.DRIVER_ENV[master.kind] + nonce.VARIABLE
            if key not in conf:
                yield RULES["spark-nonce"].at(_at(key), "missing")
    elif nonce.VARIABLE not in texts(document, "environment"):
        yield RULES["spark-nonce"].at(f"$.environment.{nonce.VARIABLE}", "missing")
    for problem in problems_in_proof(texts(document, "environment"), "$.environment"):
        if problem.rule == "nonce":
            yield problem


def _in_program(document: Mapping[str, Any]) -> Iterator[Problem]:
    """What the driver starts, and what executors unpack for it."""
    application = document.get("application")
    named = isinstance(application, str) and application.strip()
    if named and posixpath.basename(str(application)) != DRIVER:
        yield RULES["spark-application"].at("$.application", shown(application))
    arguments = document.get("arguments")
    if isinstance(arguments, list) and arguments[:1] in ([], ["-m"]) and len(arguments) < 2:
        found = "no script" if not arguments else "-m and no module"
        yield RULES["spark-program"].at("$.arguments", found)
    for key in ("files", "archives"):
        for text in words(document, key):
            yield from problems_in_place(f"$.{key}", text.rpartition("#")[0] or text)
    if not isinstance(document.get("archives"), list):
        return
    names = [one.rpartition("#")[2] for one in words(document, "archives") if "#" in one]
    if CODE not in names:
        yield RULES["spark-code"].at("$.archives", f"no archive that is unpacked as {CODE}")
    for name in sorted({name for name in names if names.count(name) > 1}):
        found = f"{names.count(name)} archives that are unpacked as {shown(name)}"
        yield RULES["spark-archive-name"].at("$.archives", found, "a name for each archive")


def _in_upload(document: Mapping[str, Any], conf: Mapping[str, str]) -> list[Problem]:
    """How what the driver starts gets to its pod."""
    master, mode = document.get("master"), document.get("deploy_mode")
    if not isinstance(master, str) or not isinstance(mode, str):
        return []
    application = document.get("application")
    files = [application] if isinstance(application, str) else []
    files += [*words(document, "files"), *words(document, "archives")]
    return problems_in_upload(master, mode, conf, files, _at(keys.UPLOAD_PATH))


def _credentials(
    document: Mapping[str, Any], conf: Mapping[str, str], allowed: Collection[str]
) -> list[Problem]:
    plain = {key: value for key, value in conf.items() if not key.endswith(nonce.VARIABLE)}
    passing = {*allowed, *(f"{keys.EXECUTOR_ENV}{name}" for name in allowed)}
    environment = texts(document, "environment")
    environment.pop(nonce.VARIABLE, None)
    return [
        *credentials_in_conf(plain, _at, passing),
        *problems_in_environment(environment, "$.environment", allowed),
        *problems_in_arguments(words(document, "arguments"), "$.arguments: ", allowed),
    ]

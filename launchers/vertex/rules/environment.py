"""The variables of each pool's containers, and credentials in what others can read. Source: the
API's EnvVar; facts of what the service sets itself in a replica."""

from __future__ import annotations

import re
from collections.abc import Iterator

from launchers.core.analysis.plain_start.model import gpus_seen
from launchers.core.credentials.elsewhere import problems_anywhere
from launchers.core.credentials.search import problems_in_arguments, problems_in_environment
from launchers.core.model.document import mapping
from launchers.core.model.problems import Problem, Severity
from launchers.core.rules.environment import is_reserved, problems_in_proof
from launchers.core.shipped import runtime
from launchers.vertex.catalogue import RULES
from launchers.vertex.rules.pools import Pool, pools
from launchers.vertex.rules.start import words_in
from launchers.vertex.rules.starts import HOROVODS, start_of

MOST_VARIABLES = 100
# What the service writes into every replica.
_SERVICES = ("AIP_", "CLOUD_ML_")
_SERVICE_NAMES = (
    "CLUSTER_SPEC",
    "TF_CONFIG",
    "MASTER_ADDR",
    "MASTER_PORT",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
)


def check_environment(document: object, ours: bool, allowed: frozenset[str]) -> list[Problem]:
    """Rules over variables and arguments; credentials in them and in labels.

    Args:
        ours: Whether names that start with LAUNCH_ are the launcher's own.
        allowed: Names whose values may look like credentials.
    """
    labels = {str(name): text for name, text in mapping(document, "labels").items()}
    texts = {name: text for name, text in labels.items() if isinstance(text, str)}
    problems = problems_in_environment(texts, "$.labels", allowed)
    checked: list[object] = []
    for pool in pools(document):
        said = [pool.task.get("env"), pool.task.get("args")]
        # Pools with ranks mostly say the same, and a mistake is told once.
        if said in checked:
            continue
        checked.append(said)
        problems += [*_names(pool, ours), *_twice(pool)]
        values = dict(pool.environment)
        problems += problems_in_environment(values, f"{pool.task_path}.env", allowed)
        if ours:
            problems += problems_in_proof(values, f"{pool.task_path}.env")
        problems += problems_in_arguments(_arguments(pool), f"{pool.task_path}.args: ", allowed)
    read = {f"{pool.task_path}.{part}" for pool in pools(document) for part in ("env", "args")}
    return problems + problems_anywhere(document, skip={"$.labels", *read}, allowed=allowed)


def _arguments(pool: Pool) -> list[str]:
    """The script's own arguments where the document is ours, else all there are."""
    return words_in(pool) or pool.words("args")


def _names(pool: Pool, ours: bool) -> Iterator[Problem]:
    variables = pool.environment
    if len(variables) > MOST_VARIABLES:
        where = f"{pool.task_path}.env"
        found = f"{len(variables)} variables"
        yield RULES["env-count"].at(where, found, f"at most {MOST_VARIABLES}")
    horovods = ours or start_of(pool).launcher in HOROVODS
    for name in dict.fromkeys(name for name, _ in variables):
        where = f"{pool.task_path}.env.{name[:60]}"
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII):
            if name:
                yield RULES["env-name"].at(where, "not a variable's name")
        elif name in _SERVICE_NAMES or name.startswith(_SERVICES):
            fix = "what acts on it (Keras does on TF_CONFIG) works apart from Horovod"
            found = "a name that the service sets in every replica"
            # Our agent reads from it who the other replicas are.
            severity: Severity = "error" if ours and name == "CLUSTER_SPEC" else "warning"
            fix = fix if horovods else ""
            yield RULES["env-reserved"].at(where, found, fix=fix, severity=severity)
        elif _sets_ranks(pool, name, ours) and horovods:
            found = "a name that Horovod, mpirun or the launcher sets for each rank"
            fix = "one value for all ranks makes them the same rank, or take the same GPU"
            yield RULES["env-reserved"].at(where, found, fix=fix, severity="warning")


def _sets_ranks(pool: Pool, name: str, ours: bool) -> bool:
    """Whether a variable decides who a rank is, or which GPU it gets."""
    if ours:
        return is_reserved(name) and not name.startswith("LAUNCH_")
    if name == "CUDA_VISIBLE_DEVICES":
        return gpus_seen(pool.gpus, dict(pool.environment)) < pool.gpus
    names = runtime("horovod_names")
    return name in (*names.PLACE, *names.RENDEZVOUS, *names.MPI)


def _twice(pool: Pool) -> Iterator[Problem]:
    seen: set[str] = set()
    for name, _ in pool.environment:
        if name in seen:
            where = f"{pool.task_path}.env.{name[:60]}"
            yield RULES["env-twice"].at(where, "the same name twice")
        seen.add(name)

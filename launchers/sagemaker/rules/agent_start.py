"""How a request starts our agent, for every strategy whose ranks mpirun does not start."""

from __future__ import annotations

import re

from launchers.core.model.document import at, mapping
from launchers.core.model.problems import Problem
from launchers.core.strategies import FIRST, NAMES, VARIABLE
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import (
    ENTRYPOINT,
    MPI_PREFIX,
    bootstrap,
    bootstrap_arguments,
    code_place,
    starts_agent,
)
from launchers.sagemaker.starts.groups import TOGETHER
from launchers.sagemaker.starts.ways import ways

_ALGORITHM = "$.AlgorithmSpecification"
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_agents(document: object) -> bool:
    """Whether our agent is to start the ranks: the document starts it, or names a strategy of
    which mpirun knows nothing."""
    named = at(document, "Environment", VARIABLE)
    return starts_agent(document) or named not in (None, FIRST)


def check_agent_start(document: object) -> list[Problem]:
    """Rules about that start."""
    return [*_strategy(document), *_entry_point(document), *_flags(document)]


def _strategy(document: object) -> list[Problem]:
    found, others = at(document, "Environment", VARIABLE), [name for name in NAMES if name != FIRST]
    if found in others:
        return []
    return [
        RULES["agent-strategy"].at(
            f"$.Environment.{VARIABLE}",
            "missing" if found is None else str(found)[:40],
            f"one of {', '.join(others)}",
        )
    ]


def _entry_point(document: object) -> list[Problem]:
    found = at(document, "AlgorithmSpecification", "ContainerEntrypoint")
    if found != list(ENTRYPOINT):
        shown = "missing" if found is None else " ".join(map(str, found))[:60]
        expected = " ".join(ENTRYPOINT)
        return [RULES["agent-start"].at(f"{_ALGORITHM}.ContainerEntrypoint", shown, expected)]
    words, path = bootstrap_arguments(document), f"{_ALGORITHM}.ContainerArguments"
    if not words:
        return [RULES["agent-start"].at(path, "missing", "a hash and our program, a line a word")]
    if tuple(words[1:]) != bootstrap():
        pairs = zip(words[1:], bootstrap(), strict=False)
        number = next((at for at, (one, other) in enumerate(pairs, 1) if one != other), 0)
        shown = words[number] if number else f"{len(words) - 1} lines"
        expected = f"our program of {len(bootstrap())} lines, unchanged"
        return [RULES["agent-start"].at(f"{path}[{number}]", shown[:80], expected)]
    return _hash(document, words[0], f"{path}[0]")


def _hash(document: object, found: str, path: str) -> list[Problem]:
    if not _SHA256.fullmatch(found):
        return [RULES["agent-code"].at(path, found[:80])]
    # Ours lies in a folder that has its name from the same hash.
    placed = _SHA256.search(code_place(document))
    if placed is None or placed[0] == found:
        return []
    return [RULES["agent-code"].at(path, found, f"{placed[0]}, as the channel's address has it")]


def _flags(document: object) -> list[Problem]:
    """Hyperparameters for a toolkit that does not run."""
    switches = {way.flag for way in ways().values()}
    return [
        RULES["agent-flag"].at(f"$.HyperParameters.{name}", str(value)[:40])
        for name, value in mapping(document, "HyperParameters").items()
        if name in switches or name == TOGETHER or str(name).startswith(MPI_PREFIX)
    ]

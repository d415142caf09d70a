"""What a local job's document must hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import Problem
from launchers.core.strategies import named, said_by
from launchers.local.catalogue import RULES


def check(definition: JobDefinition) -> list[Problem]:
    """Every rule that the document breaks, with its path in the document."""
    document = definition.document
    problems = _world_size_problems(document)
    for path in ("python", "source"):
        if not Path(document[path]).exists():
            problems.append(
                RULES["local-path"].at(f"$.{path}", f"{document[path]} (does not exist)")
            )
    return problems


def _world_size_problems(document: Any) -> list[Problem]:
    stated = document["world_size"]
    carried = document["environment"].get("LAUNCH_WORLD_SIZE")
    ranks = [rank for host in document["hosts"] for rank in host["ranks"]]
    number = document["instances"] * document["processes_per_instance"]
    replicated = named(said_by(document["environment"])).one_a_host
    problems = []
    if stated != number and not (replicated and stated and stated % number == 0):
        problems.append(
            RULES["world-size"].at(
                "$.world_size", str(stated), "instances x processes_per_instance"
            )
        )
    if carried != str(stated):
        problems.append(
            RULES["world-size"].at("$.environment.LAUNCH_WORLD_SIZE", str(carried), str(stated))
        )
    number = number if replicated else stated
    if ranks != list(range(number)):
        problems.append(
            RULES["world-size"].at(
                "$.hosts", f"ranks {ranks}", f"ranks 0 to {number - 1}, each once"
            )
        )
    return problems

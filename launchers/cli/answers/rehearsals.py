"""Rehearsals: how one ended, and what they have on this machine."""

from __future__ import annotations

from typing import Annotated, TypedDict

from launchers.cli.answers.jobs import FailureOfRank, State
from launchers.cli.answers.shape import Time


class RehearsalAnswer(TypedDict):
    """How a rehearsal ended."""

    name: Annotated[str, "The document's job."]
    id: Annotated[str, "The rehearsal's own."]
    provider: str
    state: State
    reason: str
    proof: str
    fix: Annotated[str, "What to change, where that is known."]
    world_size: Annotated[int, "Ranks that were rehearsed."]
    document_world_size: Annotated[int, "Ranks that the document starts in the cloud."]
    hosts: int
    deviations: Annotated[list[str], "What was not as in the cloud."]
    warnings: Annotated[list[str], "Worth knowing although it succeeded."]
    seconds: Annotated[dict[str, float], "Where the time went; `total` is all of it."]
    restarts: Annotated[list[str], "Each half of an interrupted rehearsal, each second start."]
    failure: FailureOfRank | None
    folder: Annotated[str | None, "Where model, output and log lie."]
    collected: Annotated[dict[str, str], "Name and folder of what was copied out."]
    differences: Annotated[list[str], "What differs between the hosts' folders."]
    refused: Annotated[list[str], "What was not copied out, and why."]


class Leftover(TypedDict):
    """A rehearsal that has something on this machine."""

    id: str
    state: Annotated[str, "`running`, `left over` or `unknown`."]
    job: str
    started: Time | None
    containers: list[str]
    networks: list[str]
    folders: list[str]


LeftoversAnswer = list[Leftover]

"""What is told of a job's end, and the answer of `launch notify`."""

from __future__ import annotations

from typing import Annotated, TypedDict

from launchers.cli.answers.jobs import State
from launchers.cli.answers.problems import ProblemAnswer
from launchers.cli.answers.shape import Time


class NoticeAnswer(TypedDict):
    """What a webhook and a command get."""

    name: Annotated[str, "The job's whole name; `notify-test` of a test."]
    provider: str
    state: State
    world_size: Annotated[int | None, "Ranks of the whole job; null where nothing says."]
    proof: Annotated[str, "The proof line; empty where there was none."]
    reason: Annotated[str, "Why it did not succeed, in one line; else empty."]
    started: Annotated[Time | None, "When its ranks were started, else when it was made."]
    ended: Annotated[Time | None, "When it ended; null where nobody says."]
    console: Annotated[str | None, "A link to it in the provider's console."]
    next: Annotated[str, "The command to run now."]
    text: Annotated[str, "All of it for a person, in two lines."]


class ToldAnswer(TypedDict):
    """Whoever was to be told."""

    target: Annotated[str, "Without what is secret of it."]
    problem: Annotated[ProblemAnswer | None, "Why it was not told; null where it was."]


class NotifyAnswer(TypedDict):
    """A notice, and who was told."""

    notice: NoticeAnswer
    told: list[ToldAnswer]

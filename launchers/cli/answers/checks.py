"""What `launch check` found, and what `launch import` wrote."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from launchers.cli.answers.problems import ProblemAnswer


class _Reason(TypedDict, total=False):
    reason: Annotated[str, "Why the ignore file accepts it; of the suppressed alone."]


class PlacedProblem(_Reason, ProblemAnswer):
    """A problem, and where it stands in the file."""

    line: Annotated[int | None, "From 1; null where no place is known."]
    column: int | None


class CheckedDocument(TypedDict):
    """A job's document, or a file that holds none."""

    file: Annotated[str, "As it was named; `-` is standard input."]
    place: Annotated[str, "Where the document lies in the file; `$` is the whole."]
    kind: Annotated[str, "What it lies in; empty for the document itself."]
    provider: Annotated[str | None, "Null where no document was found."]
    world_size: Annotated[int | None, "What it starts; null where nothing can tell."]
    because: Annotated[str, "Why it starts so many, or why nothing can tell."]
    ok: bool
    problems: list[PlacedProblem]
    suppressed: Annotated[list[PlacedProblem], "What the ignore file accepts."]


class CheckCounts(TypedDict):
    """How many problems there are of each kind."""

    errors: int
    warnings: int
    unknown: int
    suppressed: int


class ManyChecked(TypedDict):
    """What was found."""

    ok: Annotated[bool, "Whether the command exits with 0."]
    strict: bool
    counts: CheckCounts
    documents: Annotated[list[CheckedDocument], "One a job or an unreadable file."]


class OneChecked(CheckedDocument, ManyChecked):
    """The same with the keys of the one document at the top as well."""


class ImportAnswer(TypedDict):
    """What became of a job of an older service."""

    file: Annotated[str | None, "Its configuration; null where there was none."]
    output: Annotated[str | None, "The launch.yaml; null where nothing was written."]
    ok: bool
    values: Annotated[dict[str, Any], "Keys of launch.yaml (`launch schema`)."]
    problems: list[ProblemAnswer]


CheckAnswer = OneChecked | ManyChecked

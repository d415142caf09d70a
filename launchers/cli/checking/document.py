"""One file: the documents in it, and every problem of theirs with its line and column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from launchers.cli.catalogue import RULES
from launchers.cli.checking.findings import Checked, Finding
from launchers.cli.document_file import told_by_source
from launchers.core.bounded import read_text
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.reading.documents import Spec, examine, specs_in
from launchers.core.reading.places import Place, places_of
from launchers.core.reading.text_file import parse_all
from launchers.core.wrappings.places import steps_of

if TYPE_CHECKING:
    from launchers.core.analysis.document_source import DocumentSource


def check_file(
    file: str,
    job: str = "",
    world_size: int | None = None,
    source: str | None = None,
    strategy: str | None = None,
    known: dict[str, DocumentSource] | None = None,
) -> list[Checked]:
    """Each document in ``file``; where none can be read, one part that says why. Reads files alone.

    Args:
        job: The place of the one that is meant (``--job``).
        world_size: What each should start.
        source: ``--source``.
        known: Sources that other files of the command have read.

    Raises:
        LaunchError: ``source`` is neither a folder nor a tar.
    """
    try:
        text = read_text(file)
        specs = specs_in(parse_all(text, file), file, job)
    except LaunchError as error:
        return [Checked(file, tuple(_placed(error.problems, file, {})))]
    places = places_of(text, file)
    known = {} if known is None else known
    return [_checked(file, places, spec, world_size, source, strategy, known) for spec in specs]


def _checked(
    file: str,
    places: Mapping[tuple[Any, ...], Place],
    spec: Spec,
    world_size: int | None,
    source: str | None,
    strategy: str | None,
    known: dict[str, DocumentSource],
) -> Checked:
    found = told_by_source(examine(spec, world_size), source, strategy, known)
    problems = list(found.problems)
    told = any(one.rule == "world-size" and one.severity == "unknown" for one in problems)
    if found.started is None and not told:
        because = found.because or "the document does not say"
        rule = RULES["world-size-unknown"]
        problems.append(rule.at(spec.place, because, severity="unknown"))
    return Checked(
        file,
        tuple(_placed(problems, file, places)),
        place=spec.place,
        kind=spec.kind,
        provider=spec.provider,
        started=found.started,
        because=found.because,
        answer=found.answer,
    )


def _placed(
    problems: Iterable[Problem], file: str, places: Mapping[tuple[Any, ...], Place]
) -> Iterator[Finding]:
    for problem in problems:
        line, column = _place(problem.path, file, places)
        yield Finding(problem, file, line, column)


def _place(path: str, file: str, places: Mapping[tuple[Any, ...], Place]) -> Place:
    """Where ``path`` stands, or else the nearest thing around it that is there."""
    named = re.match(re.escape(file) + r":(\d+)", path)
    if named:
        return int(named[1]), 1
    steps, _ = steps_of(path)
    for length in range(len(steps), -1, -1):
        if steps[:length] in places:
            return places[steps[:length]]
    return 1, 1

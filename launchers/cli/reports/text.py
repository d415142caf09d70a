"""The report for a person: a line a problem, then a line a document."""

from __future__ import annotations

from collections.abc import Iterator

from launchers.cli.checking.findings import Check, Checked, Finding, counts
from launchers.cli.reports import without_credentials
from launchers.cli.show.output import say, styled
from launchers.core.printable import printable_message

_STYLES = {"error": "red", "ok": "green", "suppressed": "dim", "": ""}


def say_report(check: Check) -> None:
    """The report on stderr, with colours on a terminal; no credential stands in it."""
    for word, text in _lines(without_credentials(check)):
        say(f"{styled(word, _STYLES.get(word, 'yellow'))}: {text}" if word else text)


def report(check: Check) -> str:
    """The same as plain text."""
    lines = (f"{word}: {text}" if word else text for word, text in _lines(check))
    return "".join(f"{printable_message(line)}\n" for line in lines)


def _lines(check: Check) -> Iterator[tuple[str, str]]:
    """A word that is coloured, and what follows it."""
    for part in check.parts:
        for found in part.findings:
            if found.ignored:
                yield "suppressed", f"{_line(found)} Ignored: {found.ignored}"
            elif found.problem.rule != "world-size-unknown" or check.strict:
                # Without --strict the document's own line says it.
                yield found.problem.severity, _line(found)
        if part.provider:
            yield "", f"{part.title}: {_verdict(part)}"
    if len(check.parts) > 1:
        documents = len(check.documents)
        found_all = counts(
            check.count("error"), check.count("warning"), check.count("unknown"), check.suppressed
        )
        yield "", f"{documents} {'job' if documents == 1 else 'jobs'} checked: {found_all}"


def _line(found: Finding) -> str:
    text = str(found.problem)
    # A problem of a file as a whole names it, and its line, itself.
    return text if found.problem.path.startswith(found.file) else f"{found.place}: {text}"


def _verdict(part: Checked) -> str:
    unknown = [one for one in part.of("unknown") if one.problem.rule != "world-size-unknown"]
    told = counts(
        len(part.of("error")), len(part.of("warning")), len(unknown), len(part.suppressed)
    )
    return f"{told}; {part.answer}" if part.answer else told

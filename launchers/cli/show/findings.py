"""What the doctor found, on a screen: a block for each subject, with what to do below what is
wrong."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

from launchers.cli.show.output import styled, tell
from launchers.core.credentials.elsewhere import without_credentials
from launchers.core.model.findings import Finding

_STYLES = {"ok": "green", "error": "red"}
_STATE = 7  # letters of the longest
_WIDEST = 16  # a longer name pushes its own line to the right, and no other


def say_findings(title: str, findings: Sequence[Finding]) -> None:
    """One subject's."""
    tell(styled(title, "bold", sys.stdout))
    names = min(max((len(one.name) for one in findings), default=0), _WIDEST)
    for one in findings:
        state = styled(one.state.ljust(_STATE), _STYLES.get(one.state, "yellow"), sys.stdout)
        indent = " " * (2 + _STATE + 1 + names + 2)
        lines = list(_wrapped(one.found, indent))
        tell(f"  {state} {one.name.ljust(names)}  {lines[0].strip()}")
        for line in (*lines[1:], *_below(one, indent)):
            tell(line)


def say_next(commands: Sequence[str]) -> None:
    """What to run, in that order; each line as it is to be copied, however wide the screen is."""
    tell("")
    tell(styled("run next:", "bold", sys.stdout))
    for one in commands:
        tell(f"  {without_credentials(one)}")


def _below(one: Finding, indent: str) -> Iterator[str]:
    if one.state in ("ok", "skipped"):
        return
    named = f" [{one.rule}]" if one.rule else ""
    yield from _wrapped(f"needed: {one.needed or 'an answer'}{named}", indent)
    if one.fix:
        yield from _wrapped(f"fix: {one.fix}", indent)


def _wrapped(text: str, indent: str) -> Iterator[str]:
    """Lines of a terminal's width; in a pipe one line, which a program can search."""
    text = without_credentials(text)
    if not sys.stdout.isatty():
        yield f"{indent}{text}"
        return
    width = max(shutil.get_terminal_size().columns, len(indent) + 30)
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    ) or [indent]

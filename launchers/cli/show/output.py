"""What a person sees: stderr for plans, warnings and progress, stdout for the answer alone."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import IO, Any

from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Plan
from launchers.core.printable import printable, printable_json, printable_message

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_BAR_WIDTH = 24
_RANK_COLOURS = ("36", "35", "33", "32", "34", "31")


def colours(stream: IO[str]) -> bool:
    """Whether ``stream`` takes colours: a terminal, and NO_COLOR (no-color.org) is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str, stream: IO[str] | None = None) -> str:
    """``text`` in a style where the stream takes colours."""
    if not colours(stream or sys.stderr):
        return text
    return f"\x1b[{_STYLES.get(style, style)}m{text}\x1b[0m"


def rank_style(rank: int | None) -> str:
    """The colour of one rank's tag."""
    return "2" if rank is None else _RANK_COLOURS[rank % len(_RANK_COLOURS)]


def bar(fraction: float) -> str:
    """How much is done, as a picture."""
    done = int(fraction * _BAR_WIDTH)
    return "█" * done + "░" * (_BAR_WIDTH - done)


def show_bar(text: str, stream: IO[str], style: str = "") -> None:
    """Text on a terminal's last line, which gives way to the next whole line."""
    text = text[: shutil.get_terminal_size().columns - 1]  # a line that wraps is never cleared
    with _drawing:
        clear_bar()
        stream.write(styled(text, style, stream) if style else text)
        stream.flush()
        _bar.append(stream)


def reading_shown(done: int, total: int) -> None:
    """How much of a large source is read: a bar on a terminal, and nothing anywhere else."""
    if done >= total:
        clear_bar()
    elif sys.stderr.isatty():
        show_bar(f"{bar(done / total)}  reading the source: {total / 1e6:.0f} MB", sys.stderr)


def clear_bar() -> None:
    """Take the bar away, if there is one."""
    with _drawing:
        while _bar:
            stream = _bar.pop()
            try:
                stream.write("\r\x1b[K")
                stream.flush()
            except BrokenPipeError:
                # The terminal is gone; whoever has to know hears it at the next line.
                silence_stdout()


# The stream whose last line is a bar.
_bar: list[IO[str]] = []
# Uploads tell from several threads how far they are.
_drawing = threading.RLock()


def say(text: str = "") -> None:
    """One line for a person, on stderr. Of foreign text in it, only what is printable."""
    clear_bar()
    print(printable_message(text), file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """One line of what was asked for, on stdout; as :func:`say` in all else."""
    clear_bar()
    print(printable_message(text), flush=True)


def answer(value: Any) -> None:
    """The ``--json`` answer, on stdout."""
    print(printable_json(value, indent=2), flush=True)


def silence_stdout() -> None:
    """Nobody reads it any more: what is still written there is not to fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_problems(problems: Iterable[Problem]) -> None:
    """One block a problem: what, where, what is allowed, what to do; no credential."""
    from launchers.core.credentials.elsewhere import without_credentials

    for problem in problems:
        word, style = {
            "error": ("error", "red"),
            "warning": ("warning", "yellow"),
            "unknown": ("unknown", "yellow"),
            "ok": ("ok", "green"),
        }[problem.severity]
        say(f"{styled(word, style)}: {without_credentials(str(problem))}")


def say_plan(plan: Plan, title: str, read_from: str, sends: bool = False) -> None:
    """The plan: one row a decision, with where it came from.

    Args:
        sends: The job is sent now, so that what the launcher fills by itself then is not listed.
    """
    say(f"{styled('plan', 'bold')}  {plan.name} on {title}, {read_from}")
    width = max(len(row.label) for row in plan.rows)
    for row in plan.rows:
        origin = styled(f"  ({row.origin})", "dim") if row.origin else ""
        say(f"  {row.label.ljust(width)}  {row.text}{origin}")
    for placeholder in plan.placeholders:
        if sends and placeholder.at_sending:
            continue
        say(f"  placeholder  {placeholder.path} = {placeholder.value}: {placeholder.fill}")
    say_problems(problem for problem in plan.problems if problem.severity != "error")


def say_answers(answers: Sequence[Problem]) -> None:
    """The preflight's table: each check, how it went, what was found, what to do."""
    if not answers:
        return
    say(styled("preflight", "bold"))
    names = max(len(one.path) for one in answers)
    for one in answers:
        word = {"ok": "ok", "unknown": "unknown", "warning": "warning", "error": "refused"}
        style = {"ok": "green", "error": "red"}.get(one.severity, "yellow")
        state = styled(word[one.severity].ljust(7), style)
        found = one.found if one.severity == "ok" else str(one).partition(": ")[2]
        say(f"  {one.path.ljust(names)}  {state}  {found}")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on stdout: drawn by rich on a terminal, aligned text in a pipe."""
    rows = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        drawn = Table(*columns, header_style="bold")
        for row in rows:
            drawn.add_row(*map(Text, row))  # rich reads "[x]" in a str as its own markup
        Console(no_color=not colours(sys.stdout)).print(drawn)
        return
    lines = [list(columns), *[list(row) for row in rows]]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join(cells).rstrip())

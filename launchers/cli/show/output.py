"""What a person sees: stderr for plans, warnings and progress, stdout for the answer alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Any

from launchers.cli.catalogue import RULES
from launchers.cli.show.last_line import give_way
from launchers.cli.show.streams import silence_stdout
from launchers.cli.show.wrapping import wrapped
from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import EXIT_INTERRUPTED, Problem
from launchers.core.planning.plan import Plan
from launchers.core.printable import printable_json, printable_message

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_USUAL_WIDTH = 80
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


def say(text: str = "") -> None:
    """One line for a person, on stderr. Of foreign text in it, only what is printable."""
    give_way()
    print(_for(sys.stderr, text), file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """One line of what was asked for, on stdout; as :func:`say` in all else."""
    give_way()
    print(_for(sys.stdout, text), flush=True)


def _for(stream: IO[str], text: str) -> str:
    """What a reader of ``stream`` gets of a message: in a pipe its lines stay whole."""
    text = printable_message(text)
    width = terminal_width(stream)
    return wrapped(text, width) if width else text


def terminal_width(stream: IO[str]) -> int | None:
    """How wide the terminal is that ``stream`` is, COLUMNS first; None where it is none."""
    if not stream.isatty():
        return None
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    except (OSError, ValueError):
        return _USUAL_WIDTH


def answer(value: Any, one_line: bool = False) -> None:
    """The ``--json`` answer, on stdout."""
    said.answered = True
    give_out(printable_json(value, indent=None if one_line else 2) + "\n")


def give_out(text: str) -> None:
    """All that was asked for, on stdout. Where its reader is gone, the command's exit code still
    tells what it found."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        silence_stdout()


def print_documents(definitions: Sequence[JobDefinition], form: str) -> None:
    """The documents alone on stdout; those of a sweep are one JSON list, or YAML with a ``---``
    before each."""
    if form == "yaml":
        import yaml

        documents = [dict(one.document) for one in definitions]
        many = len(documents) > 1
        text = yaml.safe_dump_all(
            documents, explicit_start=many, sort_keys=False, allow_unicode=True
        )
    elif len(definitions) == 1:
        text = definitions[0].text
    else:
        text = "[\n" + ",\n".join(one.text.rstrip("\n") for one in definitions) + "\n]\n"
    print(text, end="")


class Said:
    """What the running command has said so far, for the answer that it gives in the end.

    Attributes:
        answered: Its ``--json`` answer is out.
        problems: Each that it told of, in that order.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """A command begins."""
        self.answered = False
        self.problems: list[Problem] = []


said = Said()


def answer_failure(exit_code: int, one_line: bool = False) -> None:
    """The ``--json`` answer of a command that ends without one."""
    if said.answered:
        return
    from launchers.cli.show.as_json import error_answer

    problems = said.problems
    if exit_code == EXIT_INTERRUPTED and not any(one.rule == "interrupted" for one in problems):
        problems = [*problems, RULES["interrupted"].at("launch", "interrupted")]
    try:
        answer(error_answer(exit_code, problems), one_line)
    except OSError:  # the full disk is what it has just told of
        silence_stdout()


def say_problems(problems: Iterable[Problem]) -> None:
    """One block a problem: what, where, what is allowed, what to do; no credential."""
    from launchers.core.credentials.elsewhere import without_credentials

    for problem in problems:
        said.problems.append(problem)
        word, style = {
            "error": ("error", "red"),
            "warning": ("warning", "yellow"),
            "unknown": ("unknown", "yellow"),
            "ok": ("ok", "green"),
        }[problem.severity]
        say(f"{styled(word, style)}: {without_credentials(str(problem))}")


def say_interrupted(where: str, text: str, *ways_on: str, why: str = "interrupted") -> None:
    """This command ends before what it started: what becomes of that, and what to do about it.

    Args:
        where: The job, or the verb.
    """
    say(f"{why}: {text}")
    for way in ways_on:
        say(f"  {way}")
    note_interrupted(where, text, *ways_on)


def note_interrupted(where: str, text: str, *ways_on: str) -> None:
    """The same for the ``--json`` answer alone."""
    said.problems.append(RULES["interrupted"].at(where, text, fix="; ".join(ways_on)))


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

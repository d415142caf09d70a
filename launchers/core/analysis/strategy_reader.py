"""Before anything is paid for: whether the script is one whose ranks can train together.

Above world size 1 only. An error is said where it is certain, a warning where the source cannot
be followed to its end; `--strategy` is the user's word, and then nothing is looked for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from launchers.core.analysis.facts import SourceFacts, facts_of
from launchers.core.analysis.python_syntax import Fault, fault_of_error, fault_of_script
from launchers.core.analysis.strategy_search import HOROVOD, NONE, OTHER, Sight, search
from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Plan, Row
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec
from launchers.core.strategies.horovod import NAME

_SAY_SO = "if it does use Horovod where the source does not show it, add --strategy horovod"
_ALONE = "--instances 1 --processes 1 runs it alone; "
# Of the files beside the script, so many bytes are parsed for their syntax alone.
_SYNTAX_BYTES = 64_000


@dataclass(frozen=True)
class Reading:
    """What the plan shows and what is wrong."""

    rows: tuple[Row, ...] = ()
    problems: tuple[Problem, ...] = ()


def reading_of(job: JobSpec, source: JobSource, world_size: int) -> Reading:
    """What the source of ``job`` says about its ranks; nothing at world size 1."""
    if world_size == 1:
        return Reading()
    facts = facts_of(source)
    if facts is None:
        return Reading()
    left = {entry.path.partition("/")[0] for entry in source.bundle.left_out}
    # What a script reads from a variable it names itself; Horovod's own say nothing of its use.
    own = NAME.upper()
    values = [value for name, value in job.environment.items() if not name.startswith(own)]
    said = [*job.arguments, *values]
    absent = {name.partition(".")[0] for name in left}
    return read(facts, world_size, job.strategy, said, absent, job.script or source.script)


def with_reading(plan: Plan) -> Plan:
    """``plan`` with the row and the problems of :func:`reading_of`."""
    found = reading_of(plan.job, plan.source, plan.world_size)
    return replace(plan, strategy=found.rows, problems=(*plan.problems, *found.problems))


def read(
    facts: SourceFacts,
    world_size: int,
    asked: str | None = None,
    said: Sequence[str] = (),
    absent: Collection[str] = frozenset(),
    shown: str = "",
    alone: str = _ALONE,
) -> Reading:
    """What the source says about ``world_size`` ranks.

    Args:
        asked: ``--strategy``; None or ``auto`` where it is to be read from the source.
        said: See :func:`launchers.core.analysis.strategy_search.search`.
        absent: The same.
        shown: The script as its user named it.
        alone: How one rank is asked for.
    """
    given = asked if asked not in (None, "auto") else ""
    shown = shown or facts.script
    problems = _faults(facts, shown, bool(given))
    if given:
        return Reading((Row("strategy", given, "--strategy"),), tuple(problems))
    if problems:
        return Reading((), tuple(problems))
    key = ("strategy", facts.script, tuple(said), frozenset(absent))
    if key not in facts.texts.known:
        facts.texts.known[key] = search(facts, said, absent)
    sight: Sight = facts.texts.known[key]
    if sight.kind == HOROVOD:
        return Reading((Row("strategy", "horovod", sight.why),))
    row = Row("strategy", f"no Horovod seen{f', but {sight.other}' if sight.other else ''}")
    return Reading((row,), (_problem(sight, shown, world_size, alone),))


def _problem(sight: Sight, shown: str, world_size: int, alone: str) -> Problem:
    expected = f"Horovod at world size {world_size}"
    if sight.kind == OTHER:
        instead = sight.instead or "use Horovod instead"
        return RULES["strategy-other"].at(
            shown,
            f"{sight.other} and no Horovod ({sight.other_use})",
            expected,
            f"{_sentence(instead)}; {alone}{_SAY_SO}",
        )
    if sight.kind == NONE:
        others = sight.files - 1
        read = "it uses no Horovod"
        if others:
            named = f"the {others} files" if others > 1 else "the file"
            read = f"neither it nor {named} that it imports uses Horovod"
        return RULES["strategy-none"].at(
            shown,
            f"{read}: {world_size} ranks would each do all the work alone",
            expected,
            f"Bring it in with hvd.init() and a wrapped optimizer (`launch init` writes an "
            f"example); {alone}{_SAY_SO}",
        )
    found = f"{sight.other} ({sight.other_use}) and no Horovod" if sight.other else "no Horovod"
    return RULES["strategy-unseen"].at(shown, f"{found} in what can be read; {sight.why}", expected)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _faults(facts: SourceFacts, shown: str, given: bool) -> list[Problem]:
    """What keeps the script, or a file that it is sure to import, from running at all.

    Args:
        given: The user has said which strategy it is: what Python says is then a warning.
    """
    script = facts.script
    content, tree = facts.texts.read(script), facts.tree(script)
    fault = fault_of_script(script, content, tree, facts.syntax_error(script))
    if fault:
        return [_fault_problem(fault, shown, script, given)]
    problems = []
    for path in facts.surely_imported(_SYNTAX_BYTES):
        error = facts.syntax_error(path)
        if error is not None:
            fault = fault_of_error(facts.texts.read(path), error)
            problems.append(_fault_problem(fault, path, path, given))
    return problems


_PLAIN = "a Python script"


def _fault_problem(fault: Fault, shown: str, path: str, given: bool) -> Problem:
    """The words for one fault."""
    place = f"{shown}:{fault.line}" if fault.line else shown
    if fault.kind == "notebook":
        fix = f"Make it one: jupyter nbconvert --to script {shown}"
        return RULES["script-notebook"].at(place, "is a notebook", _PLAIN, fix)
    if fault.kind == "empty":
        fix = "Name the script that trains"
        return RULES["script-empty"].at(place, fault.text, fix=fix)
    if fault.kind == "binary":
        return RULES["script-binary"].at(place, "is not text", _PLAIN)
    if fault.kind == "shell":
        fix = "Name the Python script that it starts"
        return RULES["script-shell"].at(place, f"is a shell script ({fault.text})", _PLAIN, fix)
    if fault.kind == "magic":
        found = f"{fault.text!r} is a line for a notebook"
        fix = "Take such lines out, or write them in Python: the ranks run the file with python"
        return RULES["script-notebook"].at(place, found, "plain Python", fix)
    if fault.kind == "old":
        fix = "Bring it up to date: no rank runs Python 2"
        return RULES["script-syntax"].at(place, f"is Python 2: {fault.text}", "Python 3", fix)
    ours = _our_python()
    fix = "Mend it; `python -m py_compile` shows the line"
    severe = fault.certain and not given
    if not fault.certain:
        fix = "It runs where the ranks' Python is new enough for it"
    return RULES["script-syntax"].at(
        place,
        f"a syntax error: {fault.text}",
        f"what Python {ours} can read",
        fix,
        severity="error" if severe else "warning",
    )


def _our_python() -> str:
    import sys

    return f"{sys.version_info[0]}.{sys.version_info[1]}"

"""Before anything is paid for: whether the script is one whose ranks can train together.

Above world size 1 only. An error is said where it is certain, a warning where the source cannot
be followed to its end; `--strategy` is the user's word, and then nothing is looked for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from launchers.core.analysis.facts import SourceFacts
from launchers.core.analysis.strategy_search import NONE, OTHER, SEEN, SEVERAL, Sight, seen
from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import Row
from launchers.core.strategies import ALONE, FIRST, NAMES, joining, named
from launchers.core.strategies.strategy import Strategy

_SAY_SO = "if it does use one where the source does not show it, name it: --strategy " + ", ".join(
    name for name in NAMES if name != ALONE
)
AUTO = "auto"
_ALONE = "--instances 1 --processes 1 runs it alone; "


@dataclass(frozen=True)
class Reading:
    """What was decided, what the plan shows of it, and what is wrong.

    Attributes:
        strategy: The name of the one that is to start the ranks.
    """

    strategy: str = FIRST
    rows: tuple[Row, ...] = ()
    problems: tuple[Problem, ...] = ()


def read(
    facts: SourceFacts,
    world_size: int,
    asked: str | None = None,
    said: Sequence[str] = (),
    absent: Collection[str] = frozenset(),
    shown: str = "",
    alone: str = _ALONE,
    started: str | None = None,
) -> Reading:
    """What the source says about ``world_size`` ranks.

    Args:
        asked: ``--strategy``; None or ``auto`` where it is to be read from the source.
        said: See :func:`sight_of`.
        absent: The same.
        shown: The script as its user named it.
        alone: How one rank is asked for.
        started: The strategy whose ranks are started in any case, as by a document; None where
            what the source shows decides it.
    """
    from launchers.core.analysis.script_faults import faults_in

    given = asked if asked not in (None, AUTO) else ""
    shown = shown or facts.script
    problems = faults_in(facts, shown, bool(given))
    if given:
        if given == ALONE:
            problems.append(_none_of_several(world_size))
        return Reading(given, (Row("strategy", given, "--strategy"),), tuple(problems))
    if problems:
        return Reading(started or FIRST, (), tuple(problems))
    sight = sight_of(facts, said, absent)
    name = started or sight.strategy or FIRST
    wanted = Wanted(named(name), started is not None, world_size, shown, alone)
    problem = _problem(sight, wanted)
    return Reading(name, (_row(sight, wanted, problem),), (problem,) if problem else ())


def sight_of(
    facts: SourceFacts, said: Sequence[str] = (), absent: Collection[str] = frozenset()
) -> Sight:
    """What the source shows, found out once. Reads files, parses those that it must.

    Args:
        said: The script's arguments and the job's variables, which may choose a strategy.
        absent: Top-level modules of the folder that do not travel.
    """
    key = ("strategy", facts.script, tuple(said), frozenset(absent))
    if key not in facts.texts.known:
        facts.texts.known[key] = seen(facts, said) or _read_all(facts, absent)
    sight: Sight = facts.texts.known[key]
    return sight


def _read_all(facts: SourceFacts, absent: Collection[str]) -> Sight:
    from launchers.core.analysis.thorough_search import Thorough

    return Thorough(facts, absent).run()


class Wanted(NamedTuple):
    """What the source is read for.

    Attributes:
        strategy: The one whose ranks are started.
        fixed: Whatever the source shows.
        world_size: How many there are.
        shown: The script as its user named it.
        alone: How one rank is asked for.
    """

    strategy: Strategy
    fixed: bool
    world_size: int
    shown: str
    alone: str

    @property
    def expected(self) -> str:
        """What the source should use."""
        named_ones = [self.strategy] if self.fixed else joining()
        titles = " or ".join(one.title for one in named_ones)
        return f"{titles} at world size {self.world_size}"


def _row(sight: Sight, wanted: Wanted, problem: Problem | None) -> Row:
    name = wanted.strategy.name
    if problem is None:
        why = [place.why for place in sight.places if place.strategy.name == name]
        return Row("strategy", name, why[0] if why else sight.why)
    if sight.kind == SEVERAL:
        return Row("strategy", " or ".join(one.strategy.name for one in sight.places))
    if sight.strategy == name:
        return Row("strategy", name, sight.other_use)
    seen = sight.other or (named(sight.strategy).title if sight.strategy else "")
    return Row("strategy", f"no {wanted.strategy.title} seen{f', but {seen}' if seen else ''}")


def _problem(sight: Sight, wanted: Wanted) -> Problem | None:
    """Why the ranks of that strategy are not simply started, or None."""
    strategy = wanted.strategy
    joins = [sight.strategy, *(place.strategy.name for place in sight.places)]
    if sight.kind == SEVERAL:
        return None if wanted.fixed and strategy.name in joins else _several(sight, wanted)
    if sight.kind == SEEN:
        return None if strategy.name in joins else _other(sight, wanted)
    if sight.kind == NONE:
        return _nothing(sight, wanted)
    if sight.kind == OTHER or (sight.strategy not in ("", strategy.name) and not sight.why):
        return _other(sight, wanted)
    return _unseen(sight, wanted)


def _other(sight: Sight, wanted: Wanted) -> Problem:
    title, use, instead = sight.other, sight.other_use, sight.instead
    for place in sight.places:
        title, use, instead = place.use.title, place.why, place.use.instead
    title = title or named(sight.strategy).title
    fix = _sentence(instead or f"use {wanted.strategy.title} instead")
    return RULES["strategy-other"].at(
        wanted.shown,
        f"{title} and no {wanted.strategy.title} ({use or sight.why})",
        wanted.expected,
        f"{fix}; {wanted.alone}{_SAY_SO}",
    )


def _nothing(sight: Sight, wanted: Wanted) -> Problem:
    what = wanted.strategy.title
    more, either = ("", "") if wanted.fixed else (" and nothing", " or anything")
    rest = " else that joins ranks" if more else ""
    read = f"it uses no {what}{more}{rest}"
    if sight.files > 1:
        files = "the file" if sight.files == 2 else f"the {sight.files - 1} files"
        read = f"neither it nor {files} that it imports uses {what}{either}{rest}"
    usable = [wanted.strategy] if wanted.fixed else joining()
    fixes = [one.bring_in for one in usable if one.bring_in]
    return RULES["strategy-none"].at(
        wanted.shown,
        f"{read}: {wanted.world_size} ranks would each do all the work alone",
        wanted.expected,
        f"{'. '.join(fixes)}; {wanted.alone}{_SAY_SO}",
    )


def _unseen(sight: Sight, wanted: Wanted) -> Problem:
    strategy = wanted.strategy
    found = f"no {strategy.title}"
    if sight.strategy == strategy.name:
        found = f"{sight.other} ({sight.other_use}) and nothing that joins by {strategy.joining}"
    elif sight.other:
        found = f"{sight.other} ({sight.other_use}) and {found}"
    why = f"; {sight.why}" if sight.why else ""
    fix = None  # the rule's own, of the first strategy
    if strategy.name != FIRST:
        fix = (
            f"A rank that never joins by {strategy.joining} fails the job at its end; "
            f"--strategy {strategy.name} says that it does, or --strategy another one"
        )
    return RULES["strategy-unseen"].at(
        wanted.shown,
        f"{found} in what can be read{why}",
        f"{strategy.title} at world size {wanted.world_size}",
        fix,
    )


def _several(sight: Sight, wanted: Wanted) -> Problem:
    uses = ", ".join(f"{place.use.title} ({place.why})" for place in sight.places)
    flags = " or ".join(f"--strategy {place.strategy.name}" for place in sight.places)
    return RULES["strategy-several"].at(
        wanted.shown, f"{uses}: each joins a world of its own", fix=f"Say which one: {flags}"
    )


def _none_of_several(world_size: int) -> Problem:
    return RULES["strategy-alone"].at("--strategy none", f"world size {world_size}")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

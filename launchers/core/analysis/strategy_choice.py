"""Which strategy a job's ranks train by: `--strategy`, else what the source shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from launchers.core.analysis.facts import SourceFacts, facts_of
from launchers.core.analysis.strategy_limits import limits_of
from launchers.core.analysis.strategy_reader import AUTO, Reading, read
from launchers.core.analysis.strategy_search import SEEN, all_known, seen
from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem, errors
from launchers.core.planning.plan import Row, StrategyChoice
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec
from launchers.core.strategies import ALONE, FIRST, NAMES, joining, named
from launchers.core.strategies.strategy import Strategy


def choose_strategy(
    job: JobSpec, source: JobSource, gpus: int, served: Collection[str] = NAMES
) -> StrategyChoice:
    """The strategy of ``job`` and the processes that a host runs for it. Reads the files that the
    script reaches; starts nothing.

    Of one rank nothing is said that is not asked for, but what keeps it from running at all; and
    only what certainly needs another strategy than the first gets it.

    Args:
        gpus: Of each host.
        served: Names of the strategies that the provider starts.
    """
    facts, said = facts_of(source), _said(job)
    world_size = job.instances * (job.processes or gpus or 1)
    asked = job.strategy if job.strategy != AUTO else None
    if facts is None or world_size == 1:
        found = Reading(asked) if asked else _of_one_rank(facts, said, served)
        if asked not in (None, FIRST):
            found = replace(found, rows=(Row("strategy", asked, "--strategy"),))
        if facts is not None:
            found = replace(found, problems=_faults(facts, job, source, asked))
    else:
        left = {entry.path.partition("/")[0] for entry in source.bundle.left_out}
        absent = {name.partition(".")[0] for name in left}
        found = read(facts, world_size, asked, said, absent, job.script or source.script)
    name, problems = found.strategy, found.problems
    if name == ALONE and name not in served:
        name = FIRST  # which starts one rank as well
    strategy = named(name)
    if name not in served:
        where = "--strategy" if asked else job.script or source.script
        problems = (*problems, _not_served(strategy, where, found.rows, served))
    if facts is not None and world_size > 1 and strategy.starts:
        from launchers.core.analysis.inner_ranks import problems_of_habits

        problems = (*problems, *problems_of_habits(facts, strategy, job.arguments))
    problems = (*problems, *limits_of(strategy, job, facts, asked is not None))
    processes = strategy.processes(job.processes, gpus)
    known = asked is not None or not _is_unread(source)
    return StrategyChoice(strategy, processes, found.rows, problems, known)


def _is_unread(source: JobSource) -> bool:
    """Whether there is no script to read, or its folder is refused as a whole."""
    return bool(errors(source.problems)) or not source.bundle.files


def _said(job: JobSpec) -> list[str]:
    """What the script is told by arguments and variables. What it reads from a variable it names
    itself; a strategy's own variables say nothing of its use."""
    own = [one.mention.upper() for one in joining() if one.mention]
    values = [value for name, value in job.environment.items() if not name.startswith((*own,))]
    return [*job.arguments, *values]


def _faults(
    facts: SourceFacts, job: JobSpec, source: JobSource, asked: str | None
) -> tuple[Problem, ...]:
    from launchers.core.analysis.script_faults import faults_in

    return tuple(faults_in(facts, job.script or source.script, asked is not None))


def _of_one_rank(
    facts: SourceFacts | None, said: Sequence[str], served: Collection[str]
) -> Reading:
    """What one rank needs. A script that may use the first strategy gets it, as ever."""
    sight = seen(facts, said) if facts is not None else None
    if facts is None or (sight is None and not all_known(facts)):
        return Reading()
    if sight is None:
        return Reading(ALONE)
    joins = [place.strategy.name for place in sight.places]
    name = sight.strategy if sight.kind == SEEN else joins[0]
    if name == FIRST or name not in served:
        return Reading()
    return Reading(name, (Row("strategy", name, sight.places[0].why),))


def _not_served(
    strategy: Strategy, where: str, rows: Sequence[Row], served: Collection[str]
) -> Problem:
    origin = next((row.origin for row in rows if row.origin not in ("", "--strategy")), "")
    titles = " or ".join(named(name).title for name in served if name != ALONE)
    instead = next((use.instead for use in strategy.uses if use.instead), "")
    return RULES["strategy-provider"].at(
        where,
        f"{strategy.title}{f' ({origin})' if origin else ''}",
        f"{titles}, which is all that this provider starts",
        f"docs/strategies.md says which provider starts which; or {instead or f'use {titles}'}",
    )

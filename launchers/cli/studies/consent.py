"""What a study on a cloud may cost, and whether somebody agrees to it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import click

from launchers.cli.show.output import say
from launchers.core.model.problems import LaunchError
from launchers.core.planning.plan import counted
from launchers.core.provider import Provider
from launchers.scaling.costs import cost_at_most, hours_at_most, not_agreed
from launchers.scaling.planned import Planned, StudyPlan
from launchers.scaling.records import same_run
from launchers.scaling.results import Run
from launchers.scaling.table import hours_text, limit_text, machines_text


def ask(
    chosen: Provider,
    plan: StudyPlan,
    todo: Sequence[Run],
    prices: Mapping[str, float],
    agreed: bool,
) -> None:
    """Show machines, hours at most and cost, and ask whether to go on; ``agreed`` is ``--yes``.

    Raises:
        LaunchError: Nobody can be asked, or the answer is no.
    """
    runs = [one for one in plan.runs if any(same_run(_run(one), run) for run in todo)]
    kinds = Counter(
        (machines_text(one.plan), one.plan.world_size, limit_text(one.plan)) for one in runs
    )
    say(f"on {chosen.title}, paid for:")
    for (machines, world_size, limit), count in kinds.items():
        jobs = counted(count, "job")
        say(f"  {jobs} on {machines}, world size {world_size}, at most {limit} each")
    cost = cost_at_most(runs, prices)
    told = f"at most {cost:.2f} USD" if cost is not None else "cost not known without --price USD"
    say(f"  at most {hours_text(hours_at_most(runs))} machine-hours in all (--max-runtime); {told}")
    if agreed:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise LaunchError(not_agreed("not given, and nobody to ask"))
    question = f"Start {counted(len(runs), 'job')}?"
    try:
        if click.confirm(question, err=True):
            return
    except click.Abort:
        raise KeyboardInterrupt from None
    raise LaunchError(not_agreed("the answer was no", fix=""))


def _run(planned: Planned) -> Run:
    return Run(planned.size, planned.repeat, planned.plan.world_size)

"""Which run a request is: a new one, one that was begun and not finished, or one that is in
progress or has succeeded already.

Where a provider charges for jobs, the same request again means the same job until that job has
ended without success (design: names and second runs).
"""

from __future__ import annotations

from dataclasses import replace

from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED
from launchers.core.planning.plan import Plan
from launchers.core.provider import Provider
from launchers.core.records.entry import INTENT, Entry, inherited_checkpoint, next_run
from launchers.core.records.ledger import Ledger
from launchers.core.records.naming import Run


def choose_run(
    provider: Provider, plan: Plan, base: str, again: bool, online: bool, fresh: bool = False
) -> Run:
    """Which run ``plan`` is, and the run before whose checkpoints it goes on from, where that did
    not succeed.

    Args:
        base: The job's name without its run number.
        again: Take a new run although an earlier one makes it needless.
        online: Whether the provider may be asked; a dry run goes by the ledger alone.
        fresh: Go on from no run before.
    """
    runs = _with_state_of_last(provider, Ledger().runs(provider.name, base), online)
    run = _choose(base, runs, again) if provider.charges_money else Run(base, next_run(runs))
    # Where nothing is charged for, a number that is free costs no question.
    may_ask = (again and online) or not provider.charges_money
    if may_ask and run.existing is None and not _is_intent(runs, run):
        while provider.service.name_exists(plan, run.name):
            run = replace(run, number=run.number + 1)
    previous = inherited_checkpoint([entry for entry in runs if entry.run < run.number])
    goes_on = previous is not None and previous.checkpoint and not plan.job.checkpoint
    if goes_on and not fresh:
        return replace(run, inherited=previous)
    return run


def _with_state_of_last(provider: Provider, runs: list[Entry], online: bool) -> list[Entry]:
    """``runs``; the last one's state is asked for, since the ledger's may be old."""
    if not runs or not online or not provider.charges_money:
        return runs
    last = runs[-1]
    if last.final or last.state == INTENT:
        return runs
    status = provider.service.describe(last.handle)
    return [
        *runs[:-1],
        replace(last, state=status.state, reason=status.reason, proof=status.proof),
    ]


def _choose(base: str, runs: list[Entry], again: bool) -> Run:
    if not runs:
        return Run(base)
    last = runs[-1]
    if last.state == INTENT:
        return Run(base, last.run, "begun before and not finished: taken up again")
    following = next_run(runs)
    if again:
        return Run(base, following, f"--again; run {last.run}: {last.state}")
    if last.state == SUCCEEDED:
        return Run(base, last.run, f"has succeeded; --again starts {following}", last)
    if last.state not in FINAL_STATES:
        return Run(base, last.run, f"is in progress; --again also starts {following}", last)
    reason = f": {last.reason}" if last.reason else ""
    return Run(base, following, f"since run {last.run} is {last.state}{reason}")


def _is_intent(runs: list[Entry], run: Run) -> bool:
    return any(entry.run == run.number for entry in runs)

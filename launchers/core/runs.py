"""Which run a request is: a new one, one that was begun and not finished, or one that stands.

Where a provider charges for jobs, the same request again means the same job until that job has
ended without success (design: names and second runs).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED
from launchers.core.provider import Provider
from launchers.core.records.ledger import INTENT, Entry, Ledger, inherited_checkpoint, next_run
from launchers.core.records.naming import job_name
from launchers.core.spec.job import JobSpec


@dataclass(frozen=True)
class Run:
    """The run of a request.

    Attributes:
        number: n.
        why: For the plan's line; empty where there is nothing to say.
        standing: The job of the ledger that stands for the request: it runs, or has succeeded.
    """

    number: int
    why: str = ""
    standing: Entry | None = None


def numbered(
    provider: Provider, job: JobSpec, base: str, again: bool, online: bool
) -> tuple[JobSpec, Run]:
    """``job`` with its run number, and with the checkpoints of the run before where that did not
    succeed.

    Args:
        again: Take a new run although an earlier one stands.
        online: Whether the provider may be asked; a dry run goes by the ledger alone.
    """
    runs = _as_they_stand(provider, Ledger().runs(provider.name, base), online)
    run = _choose(runs, again) if provider.charges_money else Run(next_run(runs))
    # Where nothing is charged for, a number that is free costs no question.
    asked = (again and online) or not provider.charges_money
    if asked and run.standing is None and not _is_intent(runs, run):
        run = _first_free(provider, job, base, run)
    before = [entry for entry in runs if entry.run < run.number]
    previous = inherited_checkpoint(before)
    if previous is not None and not job.checkpoint and previous.checkpoint:
        job = replace(job, checkpoint_of=previous.name, checkpoint_folder=previous.checkpoint)
    return replace(job, run=run.number, full_name=job_name(base, run.number)), run


def _as_they_stand(provider: Provider, runs: list[Entry], online: bool) -> list[Entry]:
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


def _choose(runs: list[Entry], again: bool) -> Run:
    if not runs:
        return Run(1)
    last = runs[-1]
    if last.state == INTENT:
        return Run(last.run, "begun before and not finished: taken up again")
    following = next_run(runs)
    if again:
        return Run(following, f"--again; run {last.run}: {last.state}")
    if last.state == SUCCEEDED:
        return Run(last.run, f"has succeeded; --again takes {following}", last)
    if last.state not in FINAL_STATES:
        return Run(last.run, f"is in progress; --again takes {following} beside it", last)
    reason = f": {last.reason}" if last.reason else ""
    return Run(following, f"since run {last.run} is {last.state}{reason}")


def _is_intent(runs: list[Entry], run: Run) -> bool:
    return any(entry.run == run.number for entry in runs)


def _first_free(provider: Provider, job: JobSpec, base: str, run: Run) -> Run:
    """The first number from ``run`` on that the provider does not know either."""
    number = run.number
    while provider.service.name_exists(job, job_name(base, number)):
        number += 1
    return replace(run, number=number)

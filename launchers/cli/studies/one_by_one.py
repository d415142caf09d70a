"""The runs of a study on this machine: one after the other, since they share its cores."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from launchers.cli.interrupts import held_back
from launchers.cli.jobs.follow import wait_for_end
from launchers.cli.jobs.notify import tell_of_end
from launchers.cli.show.output import say, say_problems, styled
from launchers.cli.show.progress import NOTED, Bar
from launchers.cli.studies.source_watch import after_a_run, before_a_run
from launchers.core import pipeline
from launchers.core.credentials.elsewhere import without_credentials
from launchers.core.model.jobs import RUNNING, SUCCEEDED, JobHandle, JobStatus
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.output.lines import JobWatch
from launchers.core.planning.plan import counted
from launchers.core.printable import printable
from launchers.core.provider import Provider
from launchers.core.records.ledger import Ledger
from launchers.scaling import measures, running
from launchers.scaling.plan import again
from launchers.scaling.planned import Planned, StudyPlan
from launchers.scaling.records import StudyFolder, same_run
from launchers.scaling.results import Run
from launchers.scaling.table import compared_text, size_text

_CANCEL_SECONDS = 15.0


def run_one_by_one(
    chosen: Provider, plan: StudyPlan, folder: StudyFolder, todo: Sequence[Run]
) -> bool:
    """Every run of ``todo`` to its end, each kept as soon as it has ended.

    Returns:
        Whether it was interrupted; the run that was under way then has been ended, and is still to
        do.

    Raises:
        LaunchError: The script is another one since the study began; the runs made are kept.
    """
    series = _Series(chosen, folder)
    at = 0
    try:
        for at, run in enumerate(todo):
            planned = next(one for one in plan.runs if same_run(_as_run(one), run))
            series.run(planned, run, f"{at + 1}/{len(todo)}")
    except KeyboardInterrupt:
        assert folder.record is not None
        kept = next(one for one in folder.record.runs if same_run(one, todo[at]))
        if not running.is_done(kept):
            folder.put(running.renewed(todo[at]))
        return True
    except LaunchError:
        assert folder.record is not None
        done = sum(map(running.is_done, folder.record.runs))
        say(f"stopped: {done} of {counted(len(plan.runs), 'run')} are kept in {folder.path}")
        raise
    return False


class _Series:
    """Jobs of this machine, one at a time."""

    def __init__(self, chosen: Provider, folder: StudyFolder):
        self._chosen, self._folder = chosen, folder
        self._warned: set[Problem] = set()

    def run(self, planned: Planned, run: Run, number: str) -> None:
        """One run from its start to its end; one that cannot start is kept with the reason."""
        if self._has_ended_meanwhile(run):
            return
        source = before_a_run(self._chosen, self._folder, planned.prepared.job)
        what = " ".join(filter(None, (size_text(run.size), compared_text(run.size))))
        label = f"{number}  world size {run.world_size} ({what}), repeat {run.repeat}"
        # What else this machine does is nothing to a cluster.
        load = running.cores_busy() if self._chosen.runs_here else None
        # Where a run reads its source in place it may write there, and has one name all the same.
        sent = source if self._chosen.definer.sends_source else None
        planned = again(self._chosen, planned, online=False, ignored=(), source=sent)
        run = replace(run, job=planned.plan.name, state="pending", load=load)
        self._folder.put(run)
        say(f"{label}: {run.job}")
        try:
            with held_back() as interrupts:
                handle = pipeline.submit(self._chosen, planned.prepared, warn=self._warn)
        except LaunchError as error:
            reason = without_credentials(printable(str(error).splitlines()[0]))
            say_problems(error.problems)
            failed = replace(run, job="", state=running.NOT_STARTED, reason=reason)
            self._folder.put(failed)
            return
        run = replace(run, job=handle.name, state=RUNNING)
        self._folder.put(run)
        status = self._followed(handle, label, bool(interrupts))
        self._keep(run, handle, status)
        after_a_run(self._chosen, self._folder, planned.prepared.job)
        if planned.prepared.job.notify:
            tell_of_end(self._chosen, handle, status, planned.prepared.job.notify)

    def _has_ended_meanwhile(self, run: Run) -> bool:
        """Whether a launcher that was killed left a job that succeeded before it could be ended;
        one that is still being ended is waited for."""
        entry = Ledger().get(self._chosen.name, run.job) if run.job else None
        if entry is None:
            return False
        status = wait_for_end(self._chosen, entry.handle)
        if status.state == SUCCEEDED:
            self._keep(run, entry.handle, status)
        return status.state == SUCCEEDED

    def _keep(self, run: Run, handle: JobHandle, status: JobStatus) -> None:
        run = running.ended(run, status, self._chosen.service.logs(handle))
        self._folder.put(run)
        style = "green" if run.state == SUCCEEDED else "red"
        seconds, rate = measures.epoch_seconds(run), measures.images_per_second(run)
        told = [
            *([f"{seconds:.3g} s an epoch"] if seconds is not None else []),
            *([f"{rate:.0f} images/s"] if rate is not None else []),
        ]
        text = run.reason or ", ".join(told)
        say(f"  {styled(run.state, style)}  {text}".rstrip())
        if run.state != SUCCEEDED:
            say(f"  the rest: launch logs {handle.name}")

    def _followed(self, handle: JobHandle, label: str, interrupted: bool) -> JobStatus:
        """How the job ended; on a terminal its progress meanwhile."""
        service = self._chosen.service
        watch, bar = JobWatch(), Bar(sys.stderr, NOTED)
        try:
            if interrupted:
                raise KeyboardInterrupt
            for _ in service.logs(handle, follow=True, watch=watch):
                if now := watch.progress:
                    known = now.fraction is not None
                    bar.show(label, now.fraction or 0.0, 1.0 if known else None, now.place)
            return wait_for_end(self._chosen, handle, known=True)
        except BaseException:
            bar.end()
            say(f"ending {handle.name}")
            service.cancel(handle)
            wait_for_end(self._chosen, handle, time.monotonic() + _CANCEL_SECONDS, known=True)
            raise
        finally:
            bar.end()

    def _warn(self, problem: Problem) -> None:
        """Once, since every run would say the same."""
        if problem not in self._warned:
            say_problems([problem])
        self._warned.add(problem)


def _as_run(planned: Planned) -> Run:
    return Run(planned.size, planned.repeat, planned.plan.world_size)

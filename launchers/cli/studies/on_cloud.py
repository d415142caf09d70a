"""The runs of a study on a cloud: jobs beside each other, which outlive this command."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

from launchers.cli.jobs.beside import Beside, Row
from launchers.cli.show.output import say, say_problems
from launchers.cli.studies.source_watch import before_a_run
from launchers.core.model.jobs import PENDING, JobHandle, JobStatus, LogLine
from launchers.core.model.problems import LaunchError
from launchers.core.provider import Provider
from launchers.core.records.entry import INTENT, Entry
from launchers.core.records.ledger import Ledger
from launchers.core.source.script import JobSource
from launchers.scaling import running
from launchers.scaling.costs import cost_of
from launchers.scaling.plan import again
from launchers.scaling.planned import Planned, StudyPlan
from launchers.scaling.records import StudyFolder, same_run
from launchers.scaling.results import Run


def run_on_cloud(
    chosen: Provider,
    plan: StudyPlan,
    folder: StudyFolder,
    todo: Sequence[Run],
    prices: Mapping[str, float],
    at_once: int,
    ignored: tuple[str, ...],
    cancel: bool,
) -> bool:
    """Every run of ``todo`` to its end, each kept as soon as it has ended.

    Returns:
        Whether it was interrupted; the jobs go on then, unless ``cancel`` ends them, and the same
        command follows them again.

    Raises:
        LaunchError: The account does not have what one of the jobs needs, or the script is another
            one since the study began; nothing was sent.
    """
    source = None
    if any(sent_job(chosen, run) is None for run in todo):
        # What is sent now is sent by its hash, so that a later change reaches no job.
        source = before_a_run(chosen, folder, plan.runs[0].prepared.job)
    jobs = _Jobs(chosen, folder, prices)
    for run in todo:
        planned = next(one for one in plan.runs if same_run(_as_run(one), run))
        jobs.take(run, planned, ignored, source)
    beside = Beside(chosen, at_once, ignored, cancel=cancel, sending=jobs.sending, ended=jobs.ended)
    interrupted = beside.run(jobs.rows)
    if not interrupted:
        jobs.settle()
    return interrupted


def sent_job(chosen: Provider, run: Run) -> Entry | None:
    """The ledger's entry of the run's job where that has been sent: nothing is paid for anew."""
    entry = Ledger().get(chosen.name, run.job) if run.job else None
    return entry if entry is not None and entry.state != INTENT else None


class _Jobs:
    """The runs and the rows in which their jobs are followed."""

    def __init__(self, chosen: Provider, folder: StudyFolder, prices: Mapping[str, float]):
        self._chosen, self._folder, self._prices = chosen, folder, prices
        self._lock = threading.Lock()
        self._runs: dict[int, Run] = {}
        self.rows: list[Row] = []

    def take(
        self, run: Run, planned: Planned, ignored: tuple[str, ...], source: JobSource | None
    ) -> None:
        """A run that is to do: ``source`` is sent, or its job is known and followed or has
        ended."""
        entry = sent_job(self._chosen, run)
        if entry is not None:
            status = self._chosen.service.describe(entry.handle)
            if status.final:
                self._keep(run, planned, entry.handle, status)
                return
            row = Row(planned.prepared, handle=entry.handle)
        else:
            ready = again(self._chosen, planned, online=True, ignored=ignored, source=source)
            row = Row(ready.prepared)
        self.rows.append(row)
        self._runs[id(row)] = run

    def sending(self, row: Row) -> None:
        """The run's job has its name before it is sent, so that a kill loses none."""
        self._put(row, replace(self._runs[id(row)], job=row.name, state=PENDING))

    def ended(self, row: Row, status: JobStatus) -> None:
        """The run's job has ended."""
        assert row.handle is not None
        run = replace(self._runs[id(row)], job=row.name)
        planned = Planned(run.size, run.repeat, row.prepared)
        self._put(row, self._ended(run, planned, row.handle, status))

    def settle(self) -> None:
        """What came of rows whose jobs were not followed to an end."""
        for row in self.rows:
            run = self._runs[id(row)]
            if row.state == running.NOT_STARTED:
                say_problems(row.problems)
                ended = replace(run, job="", state=running.NOT_STARTED, reason=row.text)
                self._put(row, ended)
            elif not running.is_done(run):
                say(f"{row.name}: {row.state}, {row.text}; the same command again follows it")

    def _put(self, row: Row, run: Run) -> None:
        with self._lock:
            self._runs[id(row)] = run
            self._folder.put(run)

    def _keep(self, run: Run, planned: Planned, handle: JobHandle, status: JobStatus) -> None:
        with self._lock:
            self._folder.put(self._ended(run, planned, handle, status))

    def _ended(self, run: Run, planned: Planned, handle: JobHandle, status: JobStatus) -> Run:
        cost = cost_of(status, run.size.instances, planned.plan.machine_name, self._prices)
        lines: list[LogLine] = []
        unreadable = ""
        try:
            lines.extend(self._chosen.service.logs(handle))
        except LaunchError as error:
            unreadable = str(error).splitlines()[0]
        run = running.ended(run, status, lines, cost)
        return replace(run, reason=run.reason or unreadable)


def _as_run(planned: Planned) -> Run:
    return Run(planned.size, planned.repeat, planned.plan.world_size)

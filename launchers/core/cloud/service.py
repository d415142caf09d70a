"""The service half of a provider on a cloud: a job is sent once, followed, judged and ended alike
everywhere. A cloud gives its jobs (:class:`CloudJob`) and its store."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from launchers.core.cloud.errors import with_retries
from launchers.core.cloud.following import follow as follow_lines
from launchers.core.cloud.following import status
from launchers.core.cloud.job import CloudJob, Request
from launchers.core.cloud.poll import poll_seconds
from launchers.core.cloud.sending import intended, send_once
from launchers.core.cloud.upload import Progress
from launchers.core.model.jobs import (
    STOPPING,
    JobDefinition,
    JobHandle,
    JobStatus,
    Listener,
    LogLine,
)
from launchers.core.model.problems import LaunchError
from launchers.core.output.lines import JobWatch
from launchers.core.planning.plan import Plan
from launchers.core.records.ledger import Ledger
from launchers.core.roles import SILENT, Service
from launchers.core.source.bundle import SourceBundle


class CloudService(Service):
    """Runs jobs that are paid for.

    Attributes:
        name: The provider's.
    """

    name: ClassVar[str]

    @abstractmethod
    def place_of(self, definition: JobDefinition) -> dict[str, str]:
        """Where a job of that document runs: the details of its handle."""

    @abstractmethod
    def place_for(self, plan: Plan) -> dict[str, str]:
        """Where the job of that plan would run: the details of its handle."""

    @abstractmethod
    def job(self, handle: JobHandle, listener: Listener = SILENT, since: float = 0.0) -> CloudJob:
        """The job of that handle. Asks nothing yet.

        Args:
            since: Leave out older lines, in seconds since the epoch.
        """

    @abstractmethod
    def upload(self, job: CloudJob, definition: JobDefinition, bundle: SourceBundle) -> None:
        """Store the bundle where the document expects it, unless it is there; safe to repeat.

        Raises:
            LaunchError: The store refuses it, or the source changed since it was read.
        """

    def telling(self, doing: str) -> Progress:
        """Tells the listener how far the source's bytes are with "uploading" or the like."""
        return lambda done, total: self.listener.progress(f"{doing} the source", done, total)

    @property
    def poll_seconds(self) -> float:
        """See :func:`launchers.core.cloud.poll.poll_seconds`."""
        return poll_seconds()

    def submit(self, definition: JobDefinition, bundle: SourceBundle) -> JobHandle:
        """Upload the bundle, then send one request; the ledger holds the intent.

        Safe to repeat, and in several processes at once.

        Raises:
            LaunchError: The store or the service refused.
            NameTakenError: Somebody else's job has the name.
            InDoubtError: It is not known whether the job was taken.
        """
        say = self.listener.say
        with intended(self.name, definition.name, say) as intent:
            details = {**intent.details, **self.place_of(definition)}
            handle = JobHandle(self.name, definition.name, details)
            job = self.job(handle, self.listener)
            if job.is_known:
                return handle
            with intent.before_the_request():
                self.upload(job, definition, bundle)
            request = Request(definition, intent.begun)
            found = send_once(job, request, intent.may_be_sent, intent.note_sent, say)
            if found:
                intent.note(**found)
        return JobHandle(self.name, definition.name, {**details, **found})

    def name_exists(self, plan: Plan, name: str) -> bool:
        """Whether the account has a job of that name there."""
        one = self.job(JobHandle(self.name, name, self.place_for(plan)))
        try:
            return with_retries(one.cloud, one.exists)
        except one.cloud.errors as error:
            raise _refused(one, error) from None

    def describe(self, handle: JobHandle) -> JobStatus:
        """See :func:`launchers.core.cloud.following.status`. Asks the ledger alone for a job whose
        end it holds."""
        entry = Ledger().get(self.name, handle.name)
        if entry is not None and entry.final:
            return JobStatus(entry.state, entry.reason, entry.proof, entry.details)
        return status(self.job(handle), entry)

    def logs(
        self,
        handle: JobHandle,
        since: float = 0.0,
        follow: bool = False,
        rank: int | None = None,
        watch: JobWatch | None = None,
    ) -> Iterator[LogLine]:
        """The job's lines from the cloud's log, also of a job that has ended.

        Raises:
            LaunchError: There is no such job, or its logs may not be read.
        """
        lines = follow_lines(self.job(handle, self.listener, since), self.listener, follow, watch)
        return (line for line in lines if rank is None or line.rank == rank)

    def newest_lines(self, handle: JobHandle) -> Sequence[LogLine]:
        """See :class:`launchers.core.roles.Service`."""
        job = self.job(handle)
        try:
            return with_retries(job.cloud, job.newest)
        except job.cloud.errors as error:
            raise job.cloud.refused(error, f"the logs of {handle.name}") from None

    def cancel(self, handle: JobHandle) -> None:
        """Ask for the job's end. Returns quietly for a job that has already ended.

        Raises:
            LaunchError: There is no such job, or the service refused.
        """
        job = self.job(handle)
        try:
            there = with_retries(job.cloud, job.stop)
        except job.cloud.errors as error:
            if _is_ending(job):
                return
            raise _refused(job, error) from None
        if not there:
            raise LaunchError(job.no_such_job())


def _is_ending(job: CloudJob) -> bool:
    try:
        found = with_retries(job.cloud, job.poll)
    except job.cloud.errors:
        return False
    return found is not None and (found.ended or found.state == STOPPING)


def _refused(job: CloudJob, error: Exception) -> LaunchError:
    return job.cloud.refused(error, f"{job.service}, {job.handle.name}")

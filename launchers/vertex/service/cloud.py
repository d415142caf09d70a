"""Vertex AI's custom jobs: submitted, followed, ended."""

from __future__ import annotations

from collections.abc import Iterator

from launchers.core.cloud.poll import poll_seconds
from launchers.core.model.jobs import JobDefinition, JobHandle, JobStatus, LogLine
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.planning.plan import Account, Plan
from launchers.core.provider import Service
from launchers.core.records.ledger import Ledger
from launchers.core.source.bundle import SourceBundle
from launchers.vertex.planning.image_choice import image_missing
from launchers.vertex.planning.plan import VertexPlan
from launchers.vertex.service import resolve as resolving
from launchers.vertex.service import submission
from launchers.vertex.service.following import follow as following
from launchers.vertex.service.following import status
from launchers.vertex.service.preflight import preflight


class VertexService(Service):
    """Sends and follows CustomJobs."""

    @property
    def poll_seconds(self) -> float:
        """See :func:`launchers.core.cloud.poll.poll_seconds`."""
        return poll_seconds()

    def resolve(self, plan: Plan) -> Account:
        """See :mod:`launchers.vertex.service.resolve`. May ask for credentials and for the project.

        Raises:
            LaunchError: There is no image, which no account can say; or as there.
        """
        assert isinstance(plan, VertexPlan)
        if plan.image.is_placeholder:
            raise LaunchError(image_missing(plan.account))
        return resolving.resolve(plan.account)

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.vertex.service.preflight`."""
        return preflight(definition)

    def submit(self, definition: JobDefinition, bundle: SourceBundle) -> JobHandle:
        """Upload the bundle, then one customJobs.create; the ledger holds the intent.

        Raises:
            LaunchError: Cloud Storage or Vertex AI refused.
            InDoubtError: It is not known whether the job was taken.
        """
        return submission.submit(definition, bundle, self.listener)

    def name_exists(self, plan: Plan, name: str) -> bool:
        """Whether the project's location has a CustomJob of that name."""
        assert isinstance(plan, VertexPlan)
        return submission.is_taken(plan.account, name)

    def adopt(self, name: str, region: str | None) -> JobHandle:
        """A job that another machine or another tool submitted."""
        return resolving.adopt(name, region)

    def describe(self, handle: JobHandle) -> JobStatus:
        """See :func:`launchers.vertex.service.following.status`. Asks the ledger alone for a job
        whose end it holds."""
        entry = Ledger().get("vertex", handle.name)
        if entry is not None and entry.final:
            return JobStatus(entry.state, entry.reason, entry.proof, entry.details)

        return status(handle)

    def logs(
        self, handle: JobHandle, since: float = 0.0, follow: bool = False, rank: int | None = None
    ) -> Iterator[LogLine]:
        """The job's lines from Cloud Logging, also of a job that has ended.

        Raises:
            LaunchError: There is no such job, or its logs may not be read.
        """
        lines = following(handle, self.listener, since, follow)
        return (line for line in lines if rank is None or line.rank == rank)

    def cancel(self, handle: JobHandle) -> None:
        """customJobs.cancel. Returns quietly for a job that has already ended.

        Raises:
            LaunchError: The service refused.
        """
        submission.cancel(handle)

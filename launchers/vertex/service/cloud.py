"""Vertex AI's custom jobs: submitted, followed, ended. Google's clients are imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launchers.core.cloud.job import CloudJob
from launchers.core.cloud.service import CloudService
from launchers.core.model.jobs import JobDefinition, JobHandle, Listener
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.planning.plan import Account, Plan
from launchers.core.roles import SILENT
from launchers.core.source.bundle import SourceBundle
from launchers.vertex.document import bundle_place
from launchers.vertex.planning.image_choice import image_missing
from launchers.vertex.planning.plan import VertexPlan

if TYPE_CHECKING:
    from launchers.vertex.service.session import Session


class VertexService(CloudService):
    """Sends CustomJobs and follows them."""

    name = "vertex"

    def resolve(self, plan: Plan) -> Account:
        """See :mod:`launchers.vertex.service.resolve`. May ask for credentials and for the project.

        Raises:
            LaunchError: There is no image, which no account can say; or as there.
        """
        assert isinstance(plan, VertexPlan)
        if plan.image.is_placeholder:
            raise LaunchError(image_missing(plan.account, plan.strategy.name))
        from launchers.vertex.service.resolve import resolve

        return resolve(plan.account)

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.vertex.service.preflight`."""
        from launchers.vertex.service.preflight import preflight

        return preflight(definition)

    def place_of(self, definition: JobDefinition) -> dict[str, str]:
        """See :class:`CloudService`."""
        where = definition.destination
        return _place(where["project"], where["location"])

    def place_for(self, plan: Plan) -> dict[str, str]:
        """See :class:`CloudService`."""
        assert isinstance(plan, VertexPlan)
        return _place(plan.account.project, plan.account.location)

    def job(self, handle: JobHandle, listener: Listener = SILENT, since: float = 0.0) -> CloudJob:
        """See :class:`launchers.vertex.service.custom_job.CustomJob`."""
        from launchers.vertex.service.custom_job import CustomJob

        return CustomJob(_session(handle), handle, listener, since)

    def upload(self, job: CloudJob, definition: JobDefinition, bundle: SourceBundle) -> None:
        """See :func:`launchers.vertex.service.upload.upload`."""
        from launchers.vertex.service.upload import upload

        place = bundle_place(definition.document)
        upload(
            _session(job.handle),
            bundle,
            place,
            self.telling("uploading"),
            self.telling("compressing"),
        )

    def adopt(self, name: str, region: str | None) -> JobHandle:
        """A job that another machine or another tool submitted."""
        from launchers.vertex.service.resolve import adopt

        return adopt(name, region)


def _session(handle: JobHandle) -> Session:
    from launchers.vertex.service.session import session_for

    return session_for(str(handle.details["project"]), str(handle.details["location"]))


def _place(project: str, location: str) -> dict[str, str]:
    return {"project": project, "location": location, "region": location}

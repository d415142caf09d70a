"""`launch vertex`: a Vertex AI CustomJob whose ranks our agent starts, without ssh."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.cloud.poll import poll_seconds
from launchers.core.model.containers import Conduct, Container
from launchers.core.model.document import document_text
from launchers.core.model.jobs import Examined, JobDefinition, JobHandle, JobStatus, LogLine
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.planning.plan import Plan
from launchers.core.planning.render import render
from launchers.core.provider import Provider
from launchers.core.records.ledger import Ledger
from launchers.core.source.bundle import SourceBundle
from launchers.core.spec.job import JobSpec
from launchers.vertex.document import MOUNT, OUR_LABELS, bundle_place, is_ours, mounted, script_of
from launchers.vertex.options import VertexOptions
from launchers.vertex.planning.account import account_of
from launchers.vertex.planning.flags import FOLLOWS
from launchers.vertex.planning.image_choice import choose_image, image_missing
from launchers.vertex.planning.plan import make_plan


class VertexProvider(Provider):
    """Renders, checks, rehearses, sends and follows CustomJobs.

    Google's clients are imported by the methods that go online, and by nothing on the way to a
    dry run.
    """

    name = "vertex"
    title = "Google Vertex AI"
    options = VertexOptions
    document_title = "CustomJob"
    capabilities = frozenset(
        {
            "machines",
            "images",
            "secrets",
            "spot",
            "max-wait",
            "regions",
            "buckets",
            "tags",
            "rehearsal",
            "bundle",
        }
    )
    follows = FOLLOWS
    once = True

    def __init__(self) -> None:
        self.poll_seconds = poll_seconds()

    def resolve(self, job: JobSpec) -> JobSpec:
        """See :mod:`launchers.vertex.service.resolve`. May ask for credentials and for the project.

        Raises:
            LaunchError: There is no image, which no account can say; or as there.
        """
        if choose_image(job).is_placeholder:
            raise LaunchError(image_missing(account_of(job)))
        from launchers.vertex.service.resolve import resolve

        return resolve(job)

    def plan(self, job: JobSpec) -> Plan:
        """See :func:`launchers.vertex.planning.plan.make_plan`."""
        return make_plan(job)

    def render(self, plan: Plan) -> JobDefinition:
        """The CustomJob."""
        return render(self.name, "custom_job.json.j2", plan)

    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        """The CustomJob without its name, our labels, service account, bucket, nonce and the
        folders of output and checkpoints. Project and location are no part of it."""
        document = json.loads(definition.text)
        document.pop("displayName")
        for key in ("serviceAccount", "baseOutputDirectory"):
            document["jobSpec"].pop(key, None)
        document["labels"] = {
            name: value
            for name, value in document["labels"].items()
            if not name.startswith(OUR_LABELS)
        }
        for pool in document["jobSpec"]["workerPoolSpecs"]:
            container = pool.get("containerSpec", {})
            container["env"] = [
                item
                for item in container.get("env", ())
                if item["name"] not in ("LAUNCH_JOB", "LAUNCH_CHECKPOINT_DIR", "LAUNCH_NONCE")
            ]
        text = json.dumps(document)
        place = mounted(bundle_place(definition.document))
        bucket = place.removeprefix(MOUNT).partition("/")[0]
        text = text.replace(f"{MOUNT}{bucket}/launch/", f"{MOUNT}/launch/")
        identity: dict[str, Any] = json.loads(text)
        return identity

    def check(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.vertex.rules.document`."""
        from launchers.vertex.rules import document as rules

        problems = rules.check(definition.document, allowed_values=frozenset(definition.allowed))
        location = definition.destination.get("location")
        return problems + (rules.check_location(definition.document, location) if location else [])

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """See :func:`launchers.vertex.rules.document.recognises`."""
        from launchers.vertex.rules.document import recognises

        return recognises(document)

    def examine(self, document: Mapping[str, Any], world_size: int | None = None) -> Examined:
        """See :mod:`launchers.vertex.rules.document`. What gcloud and the client send is read
        as the CustomJob that it stands for."""
        from launchers.vertex.rules import document as rules

        job = rules.as_custom_job(document)
        started, carried = rules.started_world_size(job), rules.carried_world_size(job)
        definition = JobDefinition(
            provider=self.name,
            name=str(job.get("displayName") or "job"),
            world_size=carried or world_size or started or 0,
            text=document_text(job),
            document=job,
        )
        problems = tuple(rules.check_as_given(document, world_size))
        program = rules.program_of(job)
        return Examined(definition, problems, started, carried, script_of(job), program)

    def machine_rows(self, gpus: int | None = None) -> list[dict[str, Any]]:
        """See :mod:`launchers.vertex.tables.machines`."""
        from launchers.vertex.tables.machines import table_rows

        return table_rows(gpus)

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.vertex.service.preflight`."""
        from launchers.vertex.service.preflight import preflight

        return preflight(definition)

    def submit(self, definition: JobDefinition, bundle: SourceBundle) -> JobHandle:
        """Upload the bundle, then one customJobs.create; the ledger holds the intent.

        Raises:
            LaunchError: Cloud Storage or Vertex AI refused.
            InDoubtError: It is not known whether the job was taken.
        """
        from launchers.vertex.service.submission import submit

        return submit(definition, bundle, self.listener)

    def is_taken(self, job: JobSpec, name: str) -> bool:
        """Whether the project's location has a CustomJob of that name."""
        from launchers.vertex.service.submission import is_taken

        return is_taken(job, name)

    def from_elsewhere(self, name: str, region: str | None) -> JobHandle:
        """A job that another machine or another tool submitted."""
        from launchers.vertex.service.resolve import from_elsewhere

        return from_elsewhere(name, region)

    def describe(self, handle: JobHandle) -> JobStatus:
        """See :func:`launchers.vertex.service.following.status`. Asks the ledger alone for a job
        whose end it holds."""
        entry = Ledger().get(self.name, handle.name)
        if entry is not None and entry.final:
            return JobStatus(entry.state, entry.reason, entry.proof, entry.details)
        from launchers.vertex.service.following import status

        return status(handle)

    def logs(
        self, handle: JobHandle, since: float = 0.0, follow: bool = False, rank: int | None = None
    ) -> Iterator[LogLine]:
        """The job's lines from Cloud Logging, also of a job that has ended.

        Raises:
            LaunchError: There is no such job, or its logs may not be read.
        """
        from launchers.vertex.service.following import follow as following

        lines = following(handle, self.listener, since, follow)
        return (line for line in lines if rank is None or line.rank == rank)

    def cancel(self, handle: JobHandle) -> None:
        """customJobs.cancel. Returns quietly for a job that has already ended.

        Raises:
            LaunchError: The service refused.
        """
        from launchers.vertex.service.submission import cancel

        cancel(handle)

    def contract(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        """See :mod:`launchers.vertex.contract`."""
        from launchers.vertex.contract import contract

        return contract(definition.document, ranks_per_host, serve_code)

    def conduct(self, definition: JobDefinition) -> Conduct:
        """See :mod:`launchers.vertex.contract`."""
        from launchers.vertex.contract import conduct

        return conduct(definition.document)

    def is_guarded(self, definition: JobDefinition) -> bool:
        """Whether the first pool starts our agent."""
        return is_ours(definition.document)

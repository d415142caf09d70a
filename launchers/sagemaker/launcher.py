"""`launch sagemaker`: an Amazon SageMaker training job with its own MPI distribution."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from launchers.core.cloud.poll import poll_seconds
from launchers.core.model.containers import Conduct, Container
from launchers.core.model.document import at, document_text, entries, mapping, whole_number
from launchers.core.model.jobs import Examined, JobDefinition, JobHandle, JobStatus, LogLine
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.planning.plan import Plan
from launchers.core.planning.render import render
from launchers.core.provider import Provider
from launchers.core.records.ledger import Ledger
from launchers.core.source.bundle import SourceBundle
from launchers.core.spec.job import JobSpec
from launchers.sagemaker.document import (
    CODE_CHANNEL,
    GUARD,
    LAUNCH_SCRIPT,
    PROGRAM,
    hyperparameter,
    program,
)
from launchers.sagemaker.options import SageMakerOptions
from launchers.sagemaker.planning.account import account_of
from launchers.sagemaker.planning.plan import make_plan
from launchers.sagemaker.rules.document import FOLLOWS, check

if TYPE_CHECKING:
    from launchers.sagemaker.service.session import Session

# Keys that no other service's documents have.
_SIGNS = (
    "AlgorithmSpecification",
    "TrainingJobName",
    "HyperParameters",
    "InputDataConfig",
    "ResourceConfig",
    "RoleArn",
)


class SageMakerProvider(Provider):
    """Renders, checks, rehearses, sends and follows CreateTrainingJob requests.

    botocore is imported by the methods that go online, and by nothing on the way to a dry run.
    """

    name = "sagemaker"
    title = "Amazon SageMaker"
    options = SageMakerOptions
    document_title = "CreateTrainingJob request"
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
        """See :mod:`launchers.sagemaker.service.resolve`. May ask STS and IAM."""
        from launchers.sagemaker.service.resolve import resolve

        return resolve(job)

    def plan(self, job: JobSpec) -> Plan:
        """See :func:`launchers.sagemaker.planning.plan.make_plan`."""
        return make_plan(job)

    def render(self, plan: Plan) -> JobDefinition:
        """The CreateTrainingJob request."""
        return render(self.name, "training_job.json.j2", plan)

    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        """The request without name, role, bucket, region, nonce and the folder of the
        checkpoints."""
        document = json.loads(definition.text)
        for key in ("TrainingJobName", "RoleArn", "CheckpointConfig"):
            document.pop(key, None)
        for key in ("sagemaker_job_name", "sagemaker_region"):
            document["HyperParameters"].pop(key, None)
        for key in ("LAUNCH_JOB", "LAUNCH_NONCE"):
            document["Environment"].pop(key, None)
        bucket = _code_bucket(definition.document)
        text = json.dumps(document).replace(f"s3://{bucket}/launch/", "s3:///launch/")
        identity: dict[str, Any] = json.loads(text)
        return identity

    def check(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.sagemaker.rules.document`."""
        return check(definition.document, allowed_values=frozenset(definition.allowed))

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether it has one of the keys that only a CreateTrainingJob request has."""
        return any(key in document for key in _SIGNS)

    def examine(self, document: Mapping[str, Any], world_size: int | None = None) -> Examined:
        """See :mod:`launchers.sagemaker.rules.document`."""
        from launchers.sagemaker.rules.world_size import started_world_size

        started = started_world_size(document)
        carried = whole_number(at(document, "Environment", "LAUNCH_WORLD_SIZE"))
        script = hyperparameter(document, LAUNCH_SCRIPT)
        definition = JobDefinition(
            provider=self.name,
            name=str(document.get("TrainingJobName", "job")),
            world_size=carried or world_size or started or 0,
            text=document_text(document),
            document=document,
        )
        problems = tuple(check(document, world_size))
        return Examined(definition, problems, started, carried, script, program(document))

    def machine_rows(self, gpus: int | None = None) -> list[dict[str, Any]]:
        """See :mod:`launchers.sagemaker.tables.machines`."""
        from launchers.sagemaker.tables.machines import table_rows

        return table_rows(gpus)

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.sagemaker.service.preflight`."""
        from launchers.sagemaker.service.preflight import preflight
        from launchers.sagemaker.service.session import session_for

        return preflight(session_for(_region_of(definition)), definition.document)

    def submit(self, definition: JobDefinition, bundle: SourceBundle) -> JobHandle:
        """Upload the bundle, then one CreateTrainingJob; the ledger holds the intent.

        Safe to repeat, and in several processes at once.

        Raises:
            LaunchError: S3 or SageMaker refused.
            InDoubtError: It is not known whether the job was taken.
        """
        from launchers.core.cloud.sending import intended
        from launchers.sagemaker.service.session import session_for
        from launchers.sagemaker.service.submission import submit_once
        from launchers.sagemaker.service.upload import upload

        region = _region_of(definition)
        session = session_for(region)

        def progress(done: int, total: int) -> None:
            self.listener.progress("uploading the source", done, total)

        with intended(self.name, definition.name, self.listener.say) as intent:
            with intent.on_the_way():
                upload(session, bundle, _code_place(definition.document), progress)
            submit_once(
                session,
                definition,
                intended=intent.begun,
                may_be_sent=intent.may_be_sent,
                before_send=intent.note_sent,
                tell=self.listener.say,
            )
        return JobHandle(self.name, definition.name, {"region": region})

    def is_taken(self, job: JobSpec, name: str) -> bool:
        """Whether the account's region has a training job of that name."""
        from launchers.sagemaker.service.session import AWS_ERRORS, session_for
        from launchers.sagemaker.service.submission import describe_job

        session = session_for(account_of(job).region)
        try:
            return describe_job(session, name) is not None
        except AWS_ERRORS as error:
            raise session.refused(error, f"SageMaker, {name}") from None

    def from_elsewhere(self, name: str, region: str | None) -> JobHandle:
        """A job that another machine or another tool submitted."""
        where = account_of(JobSpec(options=SageMakerOptions(), region=region))
        if where.region_origin == "assumed":
            raise LaunchError(
                Problem(
                    "--region",
                    "none",
                    "the region that the job runs in",
                    f"launch ... sagemaker:{name} --region REGION, or set AWS_REGION",
                    rule="region-missing",
                )
            )
        return JobHandle(self.name, name, {"region": where.region})

    def describe(self, handle: JobHandle) -> JobStatus:
        """See :func:`launchers.sagemaker.service.following.status`. Asks the ledger alone for a
        job whose end it holds."""
        entry = Ledger().get(self.name, handle.name)
        if entry is not None and entry.final:
            return JobStatus(entry.state, entry.reason, entry.proof, entry.details)
        from launchers.sagemaker.service.following import status

        return status(self._session(handle), handle)

    def logs(
        self, handle: JobHandle, since: float = 0.0, follow: bool = False, rank: int | None = None
    ) -> Iterator[LogLine]:
        """The job's lines from CloudWatch Logs, also of a job that has ended.

        Raises:
            LaunchError: There is no such job, or its logs may not be read.
        """
        from launchers.sagemaker.service.following import follow as following

        lines = following(self._session(handle), handle, self.listener, since, follow)
        return (line for line in lines if rank is None or line.rank == rank)

    def cancel(self, handle: JobHandle) -> None:
        """StopTrainingJob. Returns quietly for a job that has already ended.

        Raises:
            LaunchError: The service refused.
        """
        from launchers.sagemaker.service.session import AWS_ERRORS
        from launchers.sagemaker.service.states import has_ended
        from launchers.sagemaker.service.submission import describe_job

        session = self._session(handle)
        try:
            session.client("sagemaker").stop_training_job(TrainingJobName=handle.name)
        except AWS_ERRORS as error:
            try:
                found = describe_job(session, handle.name)
            except AWS_ERRORS:
                found = None
            if found is None or not (has_ended(found) or found["TrainingJobStatus"] == "Stopping"):
                raise session.refused(error, f"SageMaker, {handle.name}") from None

    def _session(self, handle: JobHandle) -> Session:
        from launchers.sagemaker.service.session import session_for

        return session_for(handle.details["region"])

    def contract(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        """See :mod:`launchers.sagemaker.contract`."""
        from launchers.sagemaker.contract import contract

        return contract(definition.document, ranks_per_host, serve_code)

    def conduct(self, definition: JobDefinition) -> Conduct:
        """See :mod:`launchers.sagemaker.contract`."""
        from launchers.sagemaker.contract import conduct

        return conduct(definition.document)

    def is_guarded(self, definition: JobDefinition) -> bool:
        """Whether the request's program is the guard."""
        return bool(hyperparameter(definition.document, PROGRAM) == GUARD)


def _region_of(definition: JobDefinition) -> str:
    return str(hyperparameter(definition.document, "sagemaker_region"))


def _code_bucket(document: Mapping[str, Any]) -> str:
    return _code_place(document).removeprefix("s3://").partition("/")[0]


def _code_place(document: Mapping[str, Any]) -> str:
    """Where the request expects the bundle."""
    for channel in entries(document, "InputDataConfig"):
        if channel.get("ChannelName") == CODE_CHANNEL:
            return str(at(mapping(channel, "DataSource"), "S3DataSource", "S3Uri") or "")
    return ""

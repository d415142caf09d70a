"""SageMaker's training jobs: submitted, followed, ended."""

from __future__ import annotations

from collections.abc import Iterator

from launchers.core.cloud.poll import poll_seconds
from launchers.core.cloud.sending import intended
from launchers.core.model.jobs import JobDefinition, JobHandle, JobStatus, LogLine
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.planning.plan import Account, Plan
from launchers.core.provider import Service
from launchers.core.records.ledger import Ledger
from launchers.core.source.bundle import SourceBundle
from launchers.core.spec.job import JobSpec
from launchers.sagemaker.document import code_place, hyperparameter
from launchers.sagemaker.options import SageMakerOptions
from launchers.sagemaker.planning.account import account_of
from launchers.sagemaker.planning.plan import SageMakerPlan
from launchers.sagemaker.service.following import follow as following
from launchers.sagemaker.service.following import status
from launchers.sagemaker.service.preflight import preflight
from launchers.sagemaker.service.resolve import resolve
from launchers.sagemaker.service.session import AWS_ERRORS, Session, session_for
from launchers.sagemaker.service.states import has_ended
from launchers.sagemaker.service.submission import describe_job, submit_once
from launchers.sagemaker.service.upload import upload


class SageMakerService(Service):
    """Sends and follows CreateTrainingJob requests."""

    @property
    def poll_seconds(self) -> float:
        """See :func:`launchers.core.cloud.poll.poll_seconds`."""
        return poll_seconds()

    def resolve(self, plan: Plan) -> Account:
        """See :mod:`launchers.sagemaker.service.resolve`. May ask STS and IAM."""
        assert isinstance(plan, SageMakerPlan)
        return resolve(plan.account)

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.sagemaker.service.preflight`."""
        return preflight(session_for(_region_of(definition)), definition.document)

    def submit(self, definition: JobDefinition, bundle: SourceBundle) -> JobHandle:
        """Upload the bundle, then one CreateTrainingJob; the ledger holds the intent.

        Safe to repeat, and in several processes at once.

        Raises:
            LaunchError: S3 or SageMaker refused.
            InDoubtError: It is not known whether the job was taken.
        """
        region = _region_of(definition)
        session = session_for(region)

        def progress(done: int, total: int) -> None:
            self.listener.progress("uploading the source", done, total)

        with intended("sagemaker", definition.name, self.listener.say) as intent:
            with intent.on_the_way():
                upload(session, bundle, code_place(definition.document), progress)
            submit_once(
                session,
                definition,
                intended=intent.begun,
                may_be_sent=intent.may_be_sent,
                before_send=intent.note_sent,
                tell=self.listener.say,
            )
        return JobHandle("sagemaker", definition.name, {"region": region})

    def name_exists(self, plan: Plan, name: str) -> bool:
        """Whether the account's region has a training job of that name."""
        assert isinstance(plan, SageMakerPlan)
        session = session_for(plan.account.region)
        try:
            return describe_job(session, name) is not None
        except AWS_ERRORS as error:
            raise session.refused(error, f"SageMaker, {name}") from None

    def adopt(self, name: str, region: str | None) -> JobHandle:
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
        return JobHandle("sagemaker", name, {"region": where.region})

    def describe(self, handle: JobHandle) -> JobStatus:
        """See :func:`launchers.sagemaker.service.following.status`. Asks the ledger alone for a
        job whose end it holds."""
        entry = Ledger().get("sagemaker", handle.name)
        if entry is not None and entry.final:
            return JobStatus(entry.state, entry.reason, entry.proof, entry.details)

        return status(self._session(handle), handle)

    def logs(
        self, handle: JobHandle, since: float = 0.0, follow: bool = False, rank: int | None = None
    ) -> Iterator[LogLine]:
        """The job's lines from CloudWatch Logs, also of a job that has ended.

        Raises:
            LaunchError: There is no such job, or its logs may not be read.
        """
        lines = following(self._session(handle), handle, self.listener, since, follow)
        return (line for line in lines if rank is None or line.rank == rank)

    def cancel(self, handle: JobHandle) -> None:
        """StopTrainingJob. Returns quietly for a job that has already ended.

        Raises:
            LaunchError: The service refused.
        """
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

        return session_for(handle.details["region"])


def _region_of(definition: JobDefinition) -> str:
    return str(hyperparameter(definition.document, "sagemaker_region"))

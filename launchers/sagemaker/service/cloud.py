"""SageMaker's training jobs: submitted, followed, ended. botocore is imported on use."""

from __future__ import annotations

from launchers.core.cloud.job import CloudJob
from launchers.core.cloud.service import CloudService
from launchers.core.model.jobs import JobDefinition, JobHandle, Listener
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.planning.plan import Account, Plan
from launchers.core.roles import SILENT
from launchers.core.source.bundle import SourceBundle
from launchers.core.spec.job import JobSpec
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import code_place, hyperparameter
from launchers.sagemaker.options import SageMakerOptions
from launchers.sagemaker.planning.account import account_of
from launchers.sagemaker.planning.plan import SageMakerPlan


class SageMakerService(CloudService):
    """Sends CreateTrainingJob requests and follows the jobs."""

    name = "sagemaker"

    def resolve(self, plan: Plan) -> Account:
        """See :mod:`launchers.sagemaker.service.resolve`. May ask STS and IAM."""
        from launchers.sagemaker.service.resolve import resolve

        assert isinstance(plan, SageMakerPlan)
        return resolve(plan.account)

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.sagemaker.service.preflight`."""
        from launchers.sagemaker.service.preflight import preflight
        from launchers.sagemaker.service.session import session_for

        return preflight(session_for(self.place_of(definition)["region"]), definition.document)

    def place_of(self, definition: JobDefinition) -> dict[str, str]:
        """See :class:`CloudService`."""
        return {"region": str(hyperparameter(definition.document, "sagemaker_region"))}

    def place_for(self, plan: Plan) -> dict[str, str]:
        """See :class:`CloudService`."""
        assert isinstance(plan, SageMakerPlan)
        return {"region": plan.account.region}

    def job(self, handle: JobHandle, listener: Listener = SILENT, since: float = 0.0) -> CloudJob:
        """See :class:`launchers.sagemaker.service.training_job.TrainingJob`."""
        from launchers.sagemaker.service.session import session_for
        from launchers.sagemaker.service.training_job import TrainingJob

        return TrainingJob(session_for(handle.details["region"]), handle, listener, since)

    def upload(self, job: CloudJob, definition: JobDefinition, bundle: SourceBundle) -> None:
        """See :func:`launchers.sagemaker.service.upload.upload`."""
        from launchers.sagemaker.service.session import session_for
        from launchers.sagemaker.service.upload import upload

        session = session_for(job.handle.details["region"])
        upload(
            session,
            bundle,
            code_place(definition.document),
            self.telling("uploading"),
            self.telling("compressing"),
        )

    def adopt(self, name: str, region: str | None) -> JobHandle:
        """A job that another machine or another tool submitted."""
        where = account_of(JobSpec(options=SageMakerOptions(), region=region))
        if where.region_origin == "assumed":
            raise LaunchError(
                RULES["region-missing"].at(
                    "--region",
                    "none",
                    "the region that the job runs in",
                    f"launch ... sagemaker:{name} --region REGION, or set AWS_REGION",
                )
            )
        return JobHandle("sagemaker", name, {"region": where.region})

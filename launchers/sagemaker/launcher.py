"""`launch sagemaker`: an Amazon SageMaker training job with its own MPI distribution."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.job import JobSpec
from launchers.core.plan import Plan
from launchers.core.problems import LaunchError, Problem
from launchers.core.provider import (
    Conduct,
    Container,
    JobDefinition,
    JobHandle,
    JobStatus,
    LogLine,
    Provider,
)
from launchers.core.render import render
from launchers.sagemaker.document import GUARD, PROGRAM, at, entries, hyperparameter, mapping
from launchers.sagemaker.options import SageMakerOptions
from launchers.sagemaker.plan import make_plan
from launchers.sagemaker.rules import check


class SageMakerProvider(Provider):
    """Renders, checks and rehearses CreateTrainingJob requests. Sending them is not built yet:
    the methods that would go online refuse, and say what to run instead."""

    name = "sagemaker"
    title = "Amazon SageMaker"
    options = SageMakerOptions
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

    def resolve(self, job: JobSpec) -> JobSpec:
        """Refuses: nothing is looked up online yet."""
        raise LaunchError(_NOT_BUILT)

    def plan(self, job: JobSpec) -> Plan:
        """See :func:`launchers.sagemaker.plan.make_plan`."""
        return make_plan(job)

    def render(self, plan: Plan) -> JobDefinition:
        """The CreateTrainingJob request."""
        return render(self.name, "training_job.json.j2", plan)

    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        """The request without name, role, bucket, region and the folder of the checkpoints."""
        document = json.loads(definition.text)
        for key in ("TrainingJobName", "RoleArn", "CheckpointConfig"):
            document.pop(key, None)
        for key in ("sagemaker_job_name", "sagemaker_region"):
            document["HyperParameters"].pop(key, None)
        document["Environment"].pop("LAUNCH_JOB", None)
        bucket = _code_bucket(definition.document)
        text = json.dumps(document).replace(f"s3://{bucket}/launch/", "s3:///launch/")
        identity: dict[str, Any] = json.loads(text)
        return identity

    def check(self, definition: JobDefinition) -> list[Problem]:
        """See :mod:`launchers.sagemaker.rules`."""
        return check(definition.document)

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """Refuses: nothing is asked of the account yet."""
        raise LaunchError(_NOT_BUILT)

    def submit(self, definition: JobDefinition, bundle: Any) -> JobHandle:
        """Refuses: nothing is sent yet."""
        raise LaunchError(_NOT_BUILT)

    def describe(self, handle: JobHandle) -> JobStatus:
        """Refuses: no job was sent."""
        raise LaunchError(_NOT_BUILT)

    def logs(
        self, handle: JobHandle, since: float = 0.0, follow: bool = False, rank: int | None = None
    ) -> Iterator[LogLine]:
        """Refuses: no job was sent."""
        raise LaunchError(_NOT_BUILT)

    def cancel(self, handle: JobHandle) -> None:
        """Refuses: no job was sent."""
        raise LaunchError(_NOT_BUILT)

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


_NOT_BUILT = Problem(
    "launch sagemaker",
    "a submission",
    "--dry-run, --dry-run=docker (this version sends nothing to SageMaker)",
    "print the request, fill in its placeholders, upload the bundle, and pipe it into "
    "`aws sagemaker create-training-job --cli-input-json file:///dev/stdin`",
    rule="not-built",
)


def _code_bucket(document: Mapping[str, Any]) -> str:
    for channel in entries(document, "InputDataConfig"):
        if channel.get("ChannelName") == "code":
            place = at(mapping(channel, "DataSource"), "S3DataSource", "S3Uri") or ""
            return str(place).removeprefix("s3://").partition("/")[0]
    return ""

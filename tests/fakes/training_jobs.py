"""The fake SageMaker: training jobs."""

from __future__ import annotations

import io
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes import training_checks
from tests.fakes.aws_account import Account
from tests.fakes.clock import Clock
from tests.fakes.job_descriptions import description_of, model_uri, summary
from tests.fakes.job_runs import JobRuns
from tests.fakes.job_scenarios import Scenario
from tests.fakes.job_states import TrainingJob
from tests.fakes.object_store import ObjectStore
from tests.fakes.wire import Request, ServiceError

Operation = Callable[[Request, Mapping[str, Any]], dict[str, Any] | None]


@dataclass(frozen=True)
class _Query:
    """What ListTrainingJobs is asked for."""

    contains: str
    status: str
    after: float
    before: float


class TrainingJobs:
    """The training jobs of an account, in every region.

    Attributes:
        scenario: How a job goes for which nothing else is said. May be a function of the
            accepted document.
        checks_account: Whether a role that does not exist, or input that is not in S3, is
            refused as by the service.
        not_found: The code of an answer about a job that does not exist. The service says
            ValidationException although its model has ResourceNotFound
            (github.com/boto/boto3 issue 2808).
    """

    def __init__(self, account: Account, clock: Clock, objects: ObjectStore):
        self._account, self._clock, self._objects = account, clock, objects
        self._lock = threading.RLock()
        self._jobs: dict[tuple[str, str], TrainingJob] = {}
        self._scenarios: dict[str, Scenario] = {}
        self._runs = JobRuns(clock, self._lock)
        self.scenario: Scenario | Callable[[Mapping[str, Any]], Scenario] = Scenario()
        self.checks_account = True
        self.not_found = "ValidationException"
        self.operations: dict[str, Operation] = {
            "CreateTrainingJob": self._create,
            "DescribeTrainingJob": self._describe,
            "StopTrainingJob": self._stop,
            "ListTrainingJobs": self._list,
            "AddTags": self._add_tags,
            "ListTags": self._list_tags,
        }

    # What tests use.

    def __iter__(self) -> Iterator[TrainingJob]:
        """All jobs, in the order they were created."""
        with self._lock:
            return iter(list(self._jobs.values()))

    def __len__(self) -> int:
        return len(self._jobs)

    def get(self, name: str) -> TrainingJob:
        """The job of that name, in whatever region."""
        with self._lock:
            found = [job for job in self._jobs.values() if job.name == name]
            if not found:
                raise KeyError(name)
            found[0].settle(self._clock.now())
            return found[0]

    def script(self, name: str, scenario: Scenario) -> None:
        """How the job of that name will go, once it is created."""
        self._scenarios[name] = scenario

    def step(self, name: str, times: int = 1) -> str:
        """Move a job on; gives its secondary status then."""
        job = self.get(name)
        with self._lock:
            for _ in range(times):
                job.step(self._clock.now())
                self._ended(job)
            return job.secondary

    def run_to(self, name: str, secondary: str) -> None:
        """Move a job on until it has that secondary status.

        Raises:
            ValueError: It ends without ever having it.
        """
        job = self.get(name)
        with self._lock:
            while job.secondary != secondary:
                if job.ended:
                    raise ValueError(f"{name} ended as {job.secondary}, not at {secondary}")
                self.step(name)

    def close(self) -> None:
        """Stop what runs for real, and wait for it."""
        self._runs.close(list(self))

    def in_region(self, region: str) -> list[TrainingJob]:
        """The region's jobs, as they stand now."""
        with self._lock:
            jobs = [job for (where, _), job in self._jobs.items() if where == region]
            for job in jobs:
                job.settle(self._clock.now())
            return jobs

    # What clients use.

    def _create(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        training_checks.check_model(asked)
        training_checks.check_rules(asked)
        name = str(asked["TrainingJobName"])
        with self._lock:
            arn = f"arn:aws:sagemaker:{request.region}:{self._account.id}:training-job/{name}"
            if (request.region, name) in self._jobs:
                text = (
                    "Training job names must be unique within an AWS account and region, and a "
                    f"training job with this name already exists ({arn})"
                )
                raise ServiceError("ResourceInUse", text)
            if self.checks_account:
                training_checks.check_account(asked, self._account, self._objects, request.region)
            self._check_quota(request.region, asked)
            scenario = self._scenarios.get(name) or self.scenario
            job = TrainingJob(
                asked,
                request.body,
                arn,
                request.region,
                request.identity.arn if request.identity else "",
                round(self._clock.now(), 3),
                scenario(asked) if callable(scenario) else scenario,
                {tag["Key"]: tag["Value"] for tag in asked.get("Tags", ())},
            )
            self._jobs[request.region, name] = job
            self._runs.start(job)
        return {"TrainingJobArn": arn}

    def _describe(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            now = self._clock.now()
            job = self._job(request, asked)
            description = description_of(job)
            job.described(now)
            self._ended(job)
        return description

    def _stop(self, request: Request, asked: Mapping[str, Any]) -> None:
        with self._lock:
            job = self._job(request, asked)
            if job.status != "InProgress":
                text = (
                    f"The request was rejected because the training job is in status {job.status}."
                )
                raise ServiceError("ValidationException", text)
            job.stop(self._clock.now())

    def _list(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        query = _Query(
            str(asked.get("NameContains", "")).lower(),
            str(asked.get("StatusEquals", "")),
            float(asked.get("CreationTimeAfter", 0)),
            float(asked.get("CreationTimeBefore", "inf")),
        )
        size, first = int(asked.get("MaxResults", 10)), int(asked.get("NextToken", 0))
        if not 1 <= size <= 100:
            text = f"Value '{size}' at 'maxResults' failed to satisfy constraint: 1 to 100"
            raise ServiceError("ValidationException", f"1 validation error detected: {text}")
        jobs = [job for job in self.in_region(request.region) if _matches(job, query)]
        by_name = asked.get("SortBy") == "Name"
        jobs.sort(
            key=lambda job: (job.name,) if by_name else (job.created, job.name),
            reverse=asked.get("SortOrder", "Descending") == "Descending",
        )
        more = {"NextToken": str(first + size)} if first + size < len(jobs) else {}
        page = jobs[first : first + size]
        return {"TrainingJobSummaries": [summary(job) for job in page], **more}

    def _add_tags(self, _: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        job = self._by_arn(asked)
        with self._lock:
            job.tags.update({tag["Key"]: tag["Value"] for tag in asked["Tags"]})
        return {"Tags": asked["Tags"]}

    def _list_tags(self, _: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        job = self._by_arn(asked)
        size, first = int(asked.get("MaxResults", 50)), int(asked.get("NextToken", 0))
        tags = [{"Key": key, "Value": value} for key, value in job.tags.items()]
        more = {"NextToken": str(first + size)} if first + size < len(tags) else {}
        return {"Tags": tags[first : first + size], **more}

    def _job(self, request: Request, asked: Mapping[str, Any]) -> TrainingJob:
        job = self._jobs.get((request.region, str(asked.get("TrainingJobName"))))
        if job is None:
            raise ServiceError(self.not_found, "Requested resource not found.")
        job.settle(self._clock.now())
        self._ended(job)
        return job

    def _by_arn(self, asked: Mapping[str, Any]) -> TrainingJob:
        for job in self:
            if job.arn == asked.get("ResourceArn"):
                return job
        raise ServiceError(self.not_found, "Requested resource not found.")

    def _ended(self, job: TrainingJob) -> None:
        """Leave the model where the description says, as soon as the job has completed."""
        uri = model_uri(job)
        bucket = uri.removeprefix("s3://").partition("/")[0]
        if job.secondary != "Completed" or bucket not in self._objects.buckets:
            return
        if self._objects.get(uri) is None:
            self._objects.put(uri, _model_of(job))

    def _check_quota(self, region: str, document: Mapping[str, Any]) -> None:
        resources = document.get("ResourceConfig", {})
        spot = bool(document.get("EnableManagedSpotTraining"))
        for machine, count in _instances(document).items():
            quota = f"{machine} for {'spot training' if spot else 'training'} job usage"
            used = sum(
                _instances(job.document).get(machine, 0)
                for (where, _), job in self._jobs.items()
                if where == region
                and not job.ended
                and bool(job.document.get("EnableManagedSpotTraining")) == spot
            )
            limit = int(self._account.quotas.get(quota, 0))
            if used + count > limit and resources:
                text = (
                    f"The account-level service limit '{quota}' is {limit} Instances, with "
                    f"current utilization of {used} Instances and a request delta of {count} "
                    "Instances. Please use AWS Service Quotas to request an increase for this "
                    "quota. If AWS Service Quotas is not available, contact AWS support to "
                    "request an increase for this quota."
                )
                raise ServiceError("ResourceLimitExceeded", text)


def _model_of(job: TrainingJob) -> bytes:
    """The job's model.tar.gz; an empty one where nothing was trained."""
    if job.verdict and job.verdict.model:
        return job.verdict.model.read_bytes()
    packed = io.BytesIO()
    tarfile.open(fileobj=packed, mode="w:gz").close()
    return packed.getvalue()


def _instances(document: Mapping[str, Any]) -> dict[str, int]:
    """Machine -> how many of it a request wants."""
    resources = document.get("ResourceConfig", {})
    wanted: dict[str, int] = {}
    for group in resources.get("InstanceGroups") or [resources]:
        machine = str(group.get("InstanceType", ""))
        wanted[machine] = wanted.get(machine, 0) + int(group.get("InstanceCount", 1))
    return wanted


def _matches(job: TrainingJob, query: _Query) -> bool:
    return (
        query.contains in job.name.lower()
        and query.status in ("", job.status)
        and query.after < job.created < query.before
    )

"""What the fake SageMaker tells of a training job."""

from __future__ import annotations

from typing import Any

from tests.fakes.job_states import TrainingJob

# What DescribeTrainingJob gives back of the request as it was sent.
_ECHOED = (
    "TrainingJobName",
    "HyperParameters",
    "AlgorithmSpecification",
    "RoleArn",
    "InputDataConfig",
    "OutputDataConfig",
    "ResourceConfig",
    "VpcConfig",
    "StoppingCondition",
    "CheckpointConfig",
    "Environment",
    "RetryStrategy",
    "DebugHookConfig",
    "ExperimentConfig",
    "ProfilerConfig",
    "RemoteDebugConfig",
    "InfraCheckConfig",
)
_SWITCHES = (
    "EnableNetworkIsolation",
    "EnableInterContainerTrafficEncryption",
    "EnableManagedSpotTraining",
)


def summary(job: TrainingJob) -> dict[str, Any]:
    """A job's entry in ListTrainingJobs."""
    end = {"TrainingEndTime": job.training_end} if job.ended else {}
    return {
        "TrainingJobName": job.name,
        "TrainingJobArn": job.arn,
        "CreationTime": job.created,
        "LastModifiedTime": job.transitions[-1].start,
        "TrainingJobStatus": job.status,
        "SecondaryStatus": job.secondary,
        **end,
    }


def model_uri(job: TrainingJob) -> str:
    """Where the model goes."""
    place = str(job.document["OutputDataConfig"]["S3OutputPath"]).rstrip("/")
    return f"{place}/{job.name}/output/model.tar.gz"


def description_of(job: TrainingJob) -> dict[str, Any]:
    """What DescribeTrainingJob says. It names no creator; the model's place is said always."""
    description = {key: job.document[key] for key in _ECHOED if key in job.document}
    description |= {key: bool(job.document.get(key)) for key in _SWITCHES}
    description |= {
        **summary(job),
        "ModelArtifacts": {"S3ModelArtifacts": model_uri(job)},
        "SecondaryStatusTransitions": [
            {
                "Status": one.status,
                "StartTime": one.start,
                **({"EndTime": one.end} if one.end is not None else {}),
                "StatusMessage": one.message,
            }
            for one in job.transitions
        ],
    }
    if job.training_start is not None:
        description["TrainingStartTime"] = job.training_start
    if job.ended and job.reason:
        description["FailureReason"] = job.reason
    if seconds := job.seconds():
        description["TrainingTimeInSeconds"], description["BillableTimeInSeconds"] = seconds
    return description

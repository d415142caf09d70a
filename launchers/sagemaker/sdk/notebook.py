"""From a job to the SageMaker SDK's estimator of it, by way of the request that we would send.

The estimator's arguments are read from the rendered request, one for each of its fields, so that
what the estimator sends is what the dry run prints. A field for which the SDK has no argument is
a problem, since the SDK takes any keyword and drops what it does not know.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from launchers.core.model.document import at
from launchers.core.model.problems import LaunchError, Problem, did_you_mean, errors
from launchers.core.pipeline import Prepared, prepare
from launchers.core.records.nonce import filled, new_nonce
from launchers.core.sdk import gate as sdk_gate
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import starts_agent
from launchers.sagemaker.launcher import SAGEMAKER
from launchers.sagemaker.options import SageMakerJob
from launchers.sagemaker.planning.plan import SageMakerPlan
from launchers.sagemaker.tables import images
from launchers.sagemaker.tables.image_defaults import FRAMEWORKS

# Field of the request: argument of the SDK's estimator.
ARGUMENTS = {
    "RoleArn": "role",
    "AlgorithmSpecification.TrainingImage": "image_uri",
    "AlgorithmSpecification.TrainingInputMode": "input_mode",
    "AlgorithmSpecification.ContainerEntrypoint": "container_entry_point",
    "AlgorithmSpecification.ContainerArguments": "container_arguments",
    "AlgorithmSpecification.MetricDefinitions": "metric_definitions",
    "AlgorithmSpecification.EnableSageMakerMetricsTimeSeries": "enable_sagemaker_metrics",
    "OutputDataConfig.S3OutputPath": "output_path",
    "OutputDataConfig.KmsKeyId": "output_kms_key",
    "ResourceConfig.InstanceType": "instance_type",
    "ResourceConfig.InstanceCount": "instance_count",
    "ResourceConfig.VolumeSizeInGB": "volume_size",
    "ResourceConfig.VolumeKmsKeyId": "volume_kms_key",
    "ResourceConfig.TrainingPlanArn": "training_plan",
    "ResourceConfig.KeepAlivePeriodInSeconds": "keep_alive_period_in_seconds",
    "StoppingCondition.MaxRuntimeInSeconds": "max_run",
    "StoppingCondition.MaxWaitTimeInSeconds": "max_wait",
    "Environment": "environment",
    "Tags": "tags",
    "VpcConfig.Subnets": "subnets",
    "VpcConfig.SecurityGroupIds": "security_group_ids",
    "EnableNetworkIsolation": "enable_network_isolation",
    "EnableInterContainerTrafficEncryption": "encrypt_inter_container_traffic",
    "EnableManagedSpotTraining": "use_spot_instances",
    "RetryStrategy.MaximumRetryAttempts": "max_retry_attempts",
    "RemoteDebugConfig.EnableRemoteDebug": "enable_remote_debug",
    "CheckpointConfig.S3Uri": "checkpoint_s3_uri",
    "CheckpointConfig.LocalPath": "checkpoint_local_path",
}
# Fields that the estimator's own methods bring (sdk_estimator.py).
_BY_METHOD = {"TrainingJobName", "InputDataConfig", "HyperParameters"}
# What else the job decides.
_DECIDED = {"entry_point", "source_dir", "distribution", "hyperparameters", "model_dir",
            "framework_version", "py_version", "dependencies", "git_config", "code_location",
            "instance_groups", "base_job_name",
            "container_log_level", "compiler_config"}  # fmt: skip


def make_estimator(job: SageMakerJob, overrides: Mapping[str, Any]) -> Any:
    """See :func:`launchers.sagemaker.estimator`."""
    sdk_gate.require(_features(job))
    # Past the gate: an SDK that is too new has no such modules.
    from launchers.sagemaker.sdk.estimator import CLASSES, new_session

    session = overrides.get("sagemaker_session")
    job = _in_region_of(job, session)
    prepared = prepare(SAGEMAKER, job, again=True)
    base = CLASSES["pytorch" if _framework(prepared) == "pytorch" else "tensorflow"]
    sdk_gate.require(_features_of_start(prepared))
    problems = [
        *errors(prepared.problems),
        *_placeholders(prepared),
        *_fields_without_argument(prepared.definition.document),
        *_refused(overrides, base),
    ]
    if problems:
        raise LaunchError(problems)
    for warning in prepared.problems:
        warnings.warn(str(warning), stacklevel=3)
    # The SDK sends what the estimator holds, so that it is drawn here and not at the sending.
    prepared = replace(prepared, definition=filled(prepared.definition, new_nonce()))
    if session is None:
        assert isinstance(prepared.plan, SageMakerPlan)
        session = new_session(prepared.plan.account.region)
    return base(prepared, **{**_arguments(prepared), **overrides, "sagemaker_session": session})


def _features(job: SageMakerJob) -> list[str]:
    """What the job needs of the SDK, in the words of minimums.json."""
    asked = {
        "sagemaker.estimator.environment": True,
        "sagemaker.estimator.retry_strategy": job.options.retries is not None,
        "sagemaker.estimator.warm_pools": job.options.keep_alive is not None,
        "sagemaker.estimator.training_plan": job.options.training_plan is not None,
        "sagemaker.estimator.remote_debug": job.options.remote_debug,
    }
    return [name for name, wanted in asked.items() if wanted]


def _features_of_start(prepared: Prepared) -> list[str]:
    """What the start of the ranks needs of the SDK."""
    if starts_agent(prepared.definition.document):
        return ["sagemaker.estimator.container_entry_point"]
    return []


def _in_region_of(job: SageMakerJob, session: Any) -> SageMakerJob:
    """``job`` in the session's region where it names none.

    Raises:
        LaunchError: The two name different ones.
    """
    if session is None:
        return job
    region = session.boto_region_name
    if job.region not in (None, region):
        raise LaunchError(
            RULES["estimator-region"].at(
                "region", f"{job.region}, and a sagemaker_session in {region}"
            )
        )
    return replace(job, region=region)


def _framework(prepared: Prepared) -> str:
    """By its image; one of the user's own, by what the ranks train by."""
    image = images.parse(prepared.definition.document["AlgorithmSpecification"]["TrainingImage"])
    package = prepared.plan.strategy.strategy.package
    return image.framework if image else FRAMEWORKS.get(package, "")


def _placeholders(prepared: Prepared) -> list[Problem]:
    return [
        RULES["placeholder"].at(placeholder.path, f"the placeholder {placeholder.value}")
        for placeholder in prepared.definition.placeholders
        if not placeholder.at_sending
    ]


def _fields_without_argument(document: Mapping[str, Any]) -> list[Problem]:
    return [
        RULES["estimator-field"].at(f"$.{path}", "a field of the job")
        for path in _paths(document)
        if path not in ARGUMENTS
    ]


def _paths(document: Mapping[str, Any]) -> Iterable[str]:
    """The request's fields as ARGUMENTS names them."""
    for key, value in document.items():
        if key in _BY_METHOD or key in ARGUMENTS:
            if key in ARGUMENTS:
                yield key
        elif isinstance(value, Mapping):
            yield from (f"{key}.{inner}" for inner in value)
        else:
            yield key


def _refused(overrides: Mapping[str, Any], base: type) -> list[Problem]:
    """Overrides that the SDK would take without a word, or that contradict the job."""
    known = _argument_names(base)
    decided = _DECIDED | set(ARGUMENTS.values())
    problems = []
    for name in overrides:
        if name in decided:
            problems.append(RULES["override-decided"].at(name, "an override"))
        elif name not in known:
            free = sorted(known - decided)
            problems.append(
                RULES["override-unknown"].at(
                    name,
                    "no argument of the SDK's estimator, which would drop it without an error",
                    f"one of {', '.join(free)}",
                    did_you_mean(name, free),
                )
            )
    return problems


def _argument_names(base: type) -> set[str]:
    """The named arguments of the estimator's class and of those above it."""
    names: set[str] = set()
    for cls in base.__mro__:
        if "__init__" in vars(cls) and cls.__module__.startswith("sagemaker."):
            names |= set(inspect.signature(cls.__init__).parameters)  # type: ignore[misc]
    return names - {"self", "args", "kwargs"}


def _arguments(prepared: Prepared) -> dict[str, Any]:
    document = json.loads(prepared.definition.text)  # a copy: the SDK adds to what it is given
    arguments = {ARGUMENTS[path]: at(document, *path.split(".")) for path in _paths(document)}
    # The SDK's hook is for scripts of its own way; overrides may ask for either.
    return {"debugger_hook_config": False, "disable_profiler": True, **arguments}

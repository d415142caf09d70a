"""What the service says of fields together, in its documentation and not in its model.

Source: API reference of CreateTrainingJob and of the structures that are named with each rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.model.document import at, entries, mapping, whole_number
from launchers.core.model.problems import Problem
from launchers.core.rules.environment import problems_in_proof
from launchers.core.spec.value_types import format_duration

_DAY = 86400
LONGEST_RUNTIME = 28 * _DAY  # StoppingCondition.MaxRuntimeInSeconds


def check_fields(document: object) -> list[Problem]:
    """Rules over several fields; a field of the wrong type is left to the model's own check."""
    return [
        *_spot(document),
        *_resources(document),
        *_channels(document),
        *_tags(document),
        *_isolation(document),
        *_hyperparameters(document),
        *problems_in_proof(mapping(document, "Environment"), "$.Environment"),
    ]


def _spot(document: object) -> list[Problem]:
    spot = at(document, "EnableManagedSpotTraining") is True
    stopping = mapping(document, "StoppingCondition")
    runtime = whole_number(stopping.get("MaxRuntimeInSeconds"))
    wait = whole_number(stopping.get("MaxWaitTimeInSeconds"))
    path = "$.StoppingCondition.MaxWaitTimeInSeconds"
    problems = []
    if spot and wait is None:
        problems.append(
            Problem(
                path,
                "missing",
                "a time of at least MaxRuntimeInSeconds, since spot is on",
                "--max-wait",
                rule="spot-wait",
            )
        )
    elif not spot and wait is not None:
        problems.append(
            Problem(
                path,
                str(wait),
                "no such key without spot",
                "--spot, or leave it out",
                rule="spot-wait",
            )
        )
    elif wait is not None and runtime is not None and wait < runtime:
        problems.append(
            Problem(
                path,
                format_duration(wait),
                f"at least MaxRuntimeInSeconds ({format_duration(runtime)})",
                f"--max-wait {format_duration(runtime)}, or a shorter --max-runtime",
                rule="spot-wait",
            )
        )
    if runtime is not None and runtime > LONGEST_RUNTIME:
        problems.append(
            Problem(
                "$.StoppingCondition.MaxRuntimeInSeconds",
                format_duration(runtime),
                f"at most {format_duration(LONGEST_RUNTIME)}",
                rule="runtime-limit",
            )
        )
    if spot and whole_number(at(document, "ResourceConfig", "KeepAlivePeriodInSeconds")):
        problems.append(
            Problem(
                "$.ResourceConfig.KeepAlivePeriodInSeconds",
                "a warm pool with spot",
                "one of the two",
                "leave --keep-alive or --spot out",
                rule="warm-pool-spot",
            )
        )
    return problems


def _resources(document: object) -> list[Problem]:
    resources = mapping(document, "ResourceConfig")
    path = "$.ResourceConfig"
    groups = resources.get("InstanceGroups")
    problems = []
    single = [key for key in ("InstanceType", "InstanceCount") if key in resources]
    if groups and single:
        problems.append(
            Problem(
                f"{path}.InstanceGroups",
                f"together with {' and '.join(single)}",
                "InstanceGroups, or InstanceType with InstanceCount",
                rule="instance-groups",
            )
        )
    for key in ("InstanceType", "InstanceCount"):
        if resources and not groups and key not in resources:
            problems.append(Problem(f"{path}.{key}", "missing", "a value", rule="instances"))
    count = resources.get("InstanceCount")
    if isinstance(count, int) and count < 1:
        problems.append(
            Problem(f"{path}.InstanceCount", str(count), "at least 1", rule="instances")
        )
    return problems


def _channels(document: object) -> list[Problem]:
    problems = []
    seen: set[Any] = set()
    for index, channel in enumerate(entries(document, "InputDataConfig")):
        name = channel.get("ChannelName")
        if name in seen:
            problems.append(
                Problem(
                    f"$.InputDataConfig[{index}].ChannelName",
                    f"{name} again",
                    "each channel's name once",
                    rule="channel-twice",
                )
            )
        seen.add(name)
    return problems


def _tags(document: object) -> list[Problem]:
    problems = []
    seen: set[Any] = set()
    for index, tag in enumerate(entries(document, "Tags")):
        key = tag.get("Key")
        path = f"$.Tags[{index}].Key"
        if isinstance(key, str) and key.lower().startswith("aws:"):
            problems.append(
                Problem(path, key, "a key that does not begin with aws:", rule="tag-reserved")
            )
        if key in seen:
            problems.append(Problem(path, f"{key} again", "each key once", rule="tag-twice"))
        seen.add(key)
    return problems


def _isolation(document: object) -> list[Problem]:
    if at(document, "EnableNetworkIsolation") is not True:
        return []
    environment: Mapping[str, Any] = mapping(document, "Environment")
    if "LAUNCH_SECRETS" not in environment:
        return []
    return [
        Problem(
            "$.EnableNetworkIsolation",
            "true, with secrets that the container must fetch",
            "a network, or no secrets",
            "leave --isolate or --secret out",
            rule="isolation-secret",
        )
    ]


def _hyperparameters(document: object) -> list[Problem]:
    parameters = mapping(document, "HyperParameters")
    if "sagemaker_submit_directory" not in parameters or "sagemaker_program" in parameters:
        return []
    return [
        Problem(
            "$.HyperParameters.sagemaker_program",
            "missing",
            "the program that the submit directory holds",
            rule="program-missing",
        )
    ]

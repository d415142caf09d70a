"""What the service says of fields together, in its documentation and not in its model.

Source: API reference of CreateTrainingJob and of the structures that are named with each rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.model.document import MOST_RANKS, at, entries, mapping, whole_number
from launchers.core.model.problems import Problem
from launchers.core.rules.environment import problems_in_proof
from launchers.core.rules.model_check import shown
from launchers.core.spec.value_types import format_duration
from launchers.sagemaker.catalogue import RULES

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
            RULES["spot-wait"].at(
                path,
                "missing",
                "a time of at least MaxRuntimeInSeconds, since spot is on",
                "--max-wait, which counts waiting and running together",
            )
        )
    elif not spot and wait is not None:
        problems.append(
            RULES["spot-wait"].at(
                path, str(wait), "no such key without spot", "--spot, or leave it out"
            )
        )
    elif wait is not None and runtime is not None and wait < runtime:
        problems.append(
            RULES["spot-wait"].at(
                path,
                format_duration(wait),
                f"at least MaxRuntimeInSeconds ({format_duration(runtime)})",
                f"--max-wait {format_duration(runtime)}, or a shorter --max-runtime",
            )
        )
    if runtime is not None and runtime > LONGEST_RUNTIME:
        problems.append(
            RULES["runtime-limit"].at(
                "$.StoppingCondition.MaxRuntimeInSeconds",
                format_duration(runtime),
                f"at most {format_duration(LONGEST_RUNTIME)}",
            )
        )
    kept_alive = whole_number(at(document, "ResourceConfig", "KeepAlivePeriodInSeconds"))
    if spot and (kept_alive or 0) > 0:
        problems.append(
            RULES["warm-pool-spot"].at(
                "$.ResourceConfig.KeepAlivePeriodInSeconds", "a warm pool with spot"
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
            RULES["instance-groups"].at(
                f"{path}.InstanceGroups", f"together with {' and '.join(single)}"
            )
        )
    is_there = isinstance(at(document, "ResourceConfig"), Mapping)
    for key in ("InstanceType", "InstanceCount"):
        if is_there and not groups and key not in resources:
            problems.append(RULES["instances"].at(f"{path}.{key}", "missing", "a value"))
    if not groups:
        return problems + _instances(path, resources, least=1)
    for index, group in enumerate(entries(resources, "InstanceGroups")):
        problems += _instances(f"{path}.InstanceGroups[{index}]", group, least=0)
    return problems


def _instances(path: str, machines: Mapping[str, Any], least: int) -> list[Problem]:
    """A number of hosts that no job has. What is no number the model tells."""
    count = machines.get("InstanceCount")
    if not isinstance(count, int) or isinstance(count, bool) or least <= count <= MOST_RANKS:
        return []
    expected = f"at least {least}" if count < least else f"at most {MOST_RANKS:,}"
    return [RULES["instances"].at(f"{path}.InstanceCount", shown(count), expected)]


def _channels(document: object) -> list[Problem]:
    problems = []
    seen: set[Any] = set()
    for index, channel in enumerate(entries(document, "InputDataConfig")):
        name = channel.get("ChannelName")
        if not isinstance(name, str):
            continue  # of which the model's own check says enough
        if name in seen:
            problems.append(
                RULES["channel-twice"].at(
                    f"$.InputDataConfig[{index}].ChannelName", f"{name} again"
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
        if not isinstance(key, str):
            continue
        if key.lower().startswith("aws:"):
            problems.append(RULES["tag-reserved"].at(path, key))
        if key in seen:
            problems.append(RULES["tag-twice"].at(path, f"{key} again"))
        seen.add(key)
    return problems


def _isolation(document: object) -> list[Problem]:
    if at(document, "EnableNetworkIsolation") is not True:
        return []
    environment: Mapping[str, Any] = mapping(document, "Environment")
    if "LAUNCH_SECRETS" not in environment:
        return []
    return [
        RULES["isolation-secret"].at(
            "$.EnableNetworkIsolation", "true, with secrets that the container must fetch"
        )
    ]


def _hyperparameters(document: object) -> list[Problem]:
    parameters = mapping(document, "HyperParameters")
    if "sagemaker_submit_directory" not in parameters or "sagemaker_program" in parameters:
        return []
    return [RULES["program-missing"].at("$.HyperParameters.sagemaker_program", "missing")]

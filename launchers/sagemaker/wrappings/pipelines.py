"""The training and tuning steps of a SageMaker Pipeline.

Source: the pipeline definition's JSON schema (github.com/aws-sagemaker-mlops/
sagemaker-model-building-pipeline-definition-JSON-schema), version 2020-12-01, and what the SDK's
`Pipeline.definition()` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launchers.core.model.unknown import Unknown
from launchers.core.wrappings.places import Places, joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import json_of, short, with_unknowns
from launchers.sagemaker.wrappings.requests import request
from launchers.sagemaker.wrappings.tuning import definitions

_BY = "the pipeline"


class Pipeline(Wrapping):
    """A definition, the request that makes a pipeline of it, or the answer about one."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if is_pipeline(node):
            return list(_steps(node["Steps"], joined(place, "Steps"), _defaults(node)))
        text = node.get("PipelineDefinition")
        if not isinstance(text, str) or not any(
            key in node for key in ("PipelineName", "PipelineArn")
        ):
            return None
        where = joined(place, "PipelineDefinition")
        return look(json_of(text, where), where)

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if "PipelineDefinitionS3Location" in node:
            return "a SageMaker pipeline whose definition lies in S3"
        return "a SageMaker pipeline without a step that trains" if is_pipeline(node) else ""


def is_pipeline(node: object) -> bool:
    """Whether it is a pipeline's definition."""
    return isinstance(node, Mapping) and isinstance(node.get("Steps"), list) and "Version" in node


def _defaults(pipeline: Mapping[str, Any]) -> dict[str, Any]:
    """The default values of the pipeline's parameters."""
    parameters = pipeline.get("Parameters")
    return {
        str(item.get("Name")): item["DefaultValue"]
        for item in (parameters if isinstance(parameters, list) else [])
        if isinstance(item, Mapping) and "DefaultValue" in item
    }


def _steps(steps: Any, place: str, defaults: Mapping[str, Any]) -> Iterator[Spec]:
    for index, step in enumerate(steps if isinstance(steps, list) else []):
        arguments = step.get("Arguments") if isinstance(step, Mapping) else None
        if not isinstance(arguments, Mapping):
            continue
        where = joined(place, index, "Arguments")
        kind = f"the step {short(str(step.get('Name', index)))}"
        known = with_unknowns(arguments, lambda value: _unknown(value, defaults))
        if step.get("Type") == "Training":
            yield request(known, Places(where), kind, _BY)
        elif step.get("Type") == "Tuning":
            yield from definitions(known, Places(where), kind)
        for key in ("IfSteps", "ElseSteps"):
            yield from _steps(arguments.get(key), joined(where, key), defaults)


def _unknown(value: Any, defaults: Mapping[str, Any]) -> Unknown | None:
    """A parameter, a function of one, or what an earlier step gives."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    [(key, inner)] = value.items()
    if key == "Get":
        name = str(inner).partition(".")[2]
        default = f" (by default {defaults[name]})" if name in defaults else ""
        return Unknown(short(f"{inner}{default}"))
    return Unknown(short(str(key))) if str(key).startswith("Std:") else None

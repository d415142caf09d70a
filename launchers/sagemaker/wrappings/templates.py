"""CloudFormation templates. It has no resource for a training job; what starts one lies in state
machines, pipelines, schedules and the SDK calls of the CDK.

Source: CloudFormation's resource reference (AWS::SageMaker has no TrainingJob); AwsCustomResource
of the CDK; EventBridge Scheduler's universal targets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launchers.core.model.unknown import Unknown
from launchers.core.wrappings.places import joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import Marks, short, with_unknowns

# Type -> where in its properties a definition lies.
_DEFINITIONS: Mapping[str, Sequence[tuple[str, ...]]] = {
    "AWS::StepFunctions::StateMachine": (("Definition",), ("DefinitionString",)),
    "AWS::Serverless::StateMachine": (("Definition",),),
    "AWS::SageMaker::Pipeline": (("PipelineDefinition", "PipelineDefinitionBody"),),
    "AWS::Scheduler::Schedule": (("Target",),),
}
# Properties that name a definition's file.
_FILES = ("DefinitionUri", "DefinitionS3Location")
_CALLS = ("Create", "Update")
_ACTION = re.compile(r"createTrainingJob(Command)?", re.IGNORECASE)
_TARGET = re.compile(r":aws-sdk:sagemaker:createTrainingJob$", re.IGNORECASE)
_SUBSTITUTION = r"\$\{(?!!)[^}]*\}"


class Template(Wrapping):
    """A template, as a file or as the CDK gives it."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if not is_template(node):
            return None
        found: list[Spec] = []
        for name, resource in node["Resources"].items():
            where = joined(place, "Resources", str(name), "Properties")
            properties = resource.get("Properties") if isinstance(resource, Mapping) else None
            if isinstance(properties, Mapping):
                for part, at in _parts(str(resource.get("Type")), properties, where):
                    found += look(part, at) or []
        return found

    def lacking(self, node: Mapping[str, Any]) -> str:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if not is_template(node):
            return ""
        elsewhere = [*_elsewhere(node["Resources"])]
        if elsewhere:
            name, where = elsewhere[0]
            return (
                "a CloudFormation template without a job of its own; the definition of "
                f"{short(name)} lies in {short(where)}, which is another file: check that"
            )
        return (
            "a CloudFormation template, which has no resource for a training job, and here no "
            "state machine, pipeline, schedule or SDK call that starts one"
        )


class Scheduled(Wrapping):
    """A target of EventBridge Scheduler that calls CreateTrainingJob."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        target = node.get("Target", node)
        base = joined(place, "Target") if "Target" in node else place
        if not isinstance(target, Mapping):
            return None
        arn, text = target.get("Arn"), target.get("Input")
        if not isinstance(arn, str | Unknown) or not _TARGET.search(str(arn)):
            return None
        where = joined(base, "Input")
        return look(parsed(text, where), where)


class SdkCall(Wrapping):
    """A call of an SDK as the CDK keeps it: service, action, parameters."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        action = node.get("action")
        if not isinstance(action, str) or not _ACTION.fullmatch(action):
            return None
        return look(node.get("parameters"), joined(place, "parameters"))


def _elsewhere(resources: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each resource whose definition is another file, and where that is."""
    for name, resource in resources.items():
        properties = resource.get("Properties") if isinstance(resource, Mapping) else None
        for key in _FILES:
            if isinstance(properties, Mapping) and key in properties:
                place = properties[key]
                yield str(name), place if isinstance(place, str) else f"S3 ({key})"


def is_template(node: object) -> bool:
    """Whether it is a template: resources of which one at least says its type."""
    resources = node.get("Resources") if isinstance(node, Mapping) else None
    return isinstance(resources, Mapping) and any(
        isinstance(one, Mapping) and isinstance(one.get("Type"), str) for one in resources.values()
    )


def _parts(kind: str, properties: Mapping[str, Any], place: str) -> Iterator[tuple[Any, str]]:
    """What of a resource may start a job, and where that lies."""
    for steps in _DEFINITIONS.get(kind, ()):
        value: Any = properties
        for step in steps:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is not None:
            where = joined(place, *steps)
            yield (value if kind.endswith("Schedule") else parsed(value, where)), where
    if kind.startswith(("Custom::", "AWS::CloudFormation::CustomResource")):
        for key in _CALLS:
            if key in properties:
                yield parsed(properties[key], joined(place, key)), joined(place, key)
                return
        yield with_unknowns(properties, _intrinsic), place


def parsed(value: Any, place: str) -> Any:
    """A definition that is an object, a JSON text, or a text that functions put together.

    Raises:
        LaunchError: The text is no JSON.
    """
    marks = Marks()
    text = _text(value, marks)
    if text is None:
        return with_unknowns(value, _intrinsic)
    return marks.parsed(text, place) if text.lstrip().startswith("{") else None


def _text(value: Any, marks: Marks) -> str | None:
    """The text that ``value`` becomes, with a mark for what is not known; None for an object."""
    if isinstance(value, str):
        return marks.marked(value, _SUBSTITUTION)
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    [(key, inner)] = value.items()
    if key == "Fn::Sub":
        text = inner[0] if isinstance(inner, list) and inner else inner
        return marks.marked(text, _SUBSTITUTION) if isinstance(text, str) else None
    if key == "Fn::Join" and isinstance(inner, list) and len(inner) == 2:
        separator, parts = inner
        if isinstance(separator, str) and isinstance(parts, list):
            return separator.join(_piece(part, marks) for part in parts)
    return None


def _piece(part: Any, marks: Marks) -> str:
    return part if isinstance(part, str) else marks.mark(_shown(part))


def _intrinsic(value: Any) -> Unknown | None:
    """A function or a reference of the template."""
    if isinstance(value, Mapping) and len(value) == 1:
        [(key, _)] = value.items()
        if key == "Ref" or str(key).startswith("Fn::"):
            return Unknown(short(_shown(value)))
    if isinstance(value, str) and re.search(_SUBSTITUTION, value):
        return Unknown(short(value))
    return None


def _shown(value: Any) -> str:
    """``!Ref Role`` of a function, as a person writes it."""
    if isinstance(value, Mapping) and len(value) == 1:
        [(key, inner)] = value.items()
        words = inner if isinstance(inner, str) else "..."
        if key == "Fn::GetAtt" and isinstance(inner, list):
            words = ".".join(map(str, inner))
        if key == "Fn::Sub" and isinstance(inner, list) and inner:
            words = str(inner[0])
        return f"!{str(key).removeprefix('Fn::')} {words}"
    return short(str(value))

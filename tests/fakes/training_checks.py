"""What CreateTrainingJob refuses, in the words of the service.

The forms of the messages are those of captured refusals: github.com/aws/sagemaker-python-sdk
issues 35 and 2267 of amazon-sagemaker-examples among them. One thing is stricter: a key that the
service's model does not have is refused, where the service may pass over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.model.problems import Problem
from launchers.sagemaker.rules import service_model
from tests.fakes.aws_account import Account
from tests.fakes.object_store import ObjectStore
from tests.fakes.wire import ServiceError

MAX_RUNTIME = 28 * 24 * 3600
_STEP = re.compile(r'\.([A-Za-z_][\w-]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


def check_model(document: object) -> None:
    """Refuse what breaks the service's model.

    Raises:
        ServiceError: ValidationException with every violation, or SerializationException.
    """
    problems = service_model.MODEL.check(document)
    for problem in problems:
        if problem.rule == "model-type":
            text = f"{_member(problem.path)}: {problem.found} can not be converted"
            raise ServiceError("SerializationException", text)
    if problems:
        count = len(problems)
        errors = "validation error" if count == 1 else "validation errors"
        texts = "; ".join(_violation(problem, document) for problem in problems)
        raise ServiceError("ValidationException", f"{count} {errors} detected: {texts}")


def check_rules(document: Mapping[str, Any]) -> None:
    """Refuse what the service forbids although its model allows it.

    Raises:
        ServiceError: ValidationException with the first violation.
    """
    for text in _broken_rules(document):
        raise ServiceError("ValidationException", text)


def _broken_rules(document: Mapping[str, Any]) -> Iterator[str]:
    resources, stopping = document.get("ResourceConfig", {}), document.get("StoppingCondition", {})
    runtime, wait = stopping.get("MaxRuntimeInSeconds", 86400), stopping.get("MaxWaitTimeInSeconds")
    if runtime > MAX_RUNTIME:
        yield f"Invalid MaxRuntimeInSeconds. It must be less than or equal to {MAX_RUNTIME}"
    if document.get("EnableManagedSpotTraining"):
        if wait is None or wait < runtime:
            yield (
                "Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal "
                "to MaxRuntimeInSeconds"
            )
        if resources.get("KeepAlivePeriodInSeconds"):
            yield "KeepAlivePeriodInSeconds is not supported with Managed Spot Training"
    elif wait is not None:
        yield "MaxWaitTimeInSeconds is only supported with Managed Spot Training"
    if ("InstanceType" in resources) == ("InstanceGroups" in resources):
        yield "Either InstanceType and InstanceCount or InstanceGroups must be given"
    names = [channel["ChannelName"] for channel in document.get("InputDataConfig", ())]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"Duplicate channel name: {name}"
    for tag in document.get("Tags", ()):
        if tag["Key"].lower().startswith("aws:"):
            yield "aws: prefixed tag key names are not allowed for external use."


def check_account(
    document: Mapping[str, Any], account: Account, objects: ObjectStore, region: str
) -> None:
    """Refuse a role that cannot be taken on, and input that is not there.

    Raises:
        ServiceError: ValidationException.
    """
    role = account.roles.get(str(document["RoleArn"]).rpartition("/")[2])
    if role is None or "sagemaker.amazonaws.com" not in role.trusts:
        text = (
            f"Could not assume role {document['RoleArn']}. Please ensure that the role exists "
            "and allows principal 'sagemaker.amazonaws.com' to assume the role."
        )
        raise ServiceError("ValidationException", text)
    for channel in document.get("InputDataConfig", ()):
        uri = channel.get("DataSource", {}).get("S3DataSource", {}).get("S3Uri")
        if not uri:
            continue
        bucket = uri.removeprefix("s3://").partition("/")[0]
        kept = objects.buckets.get(bucket)
        if kept is None or kept.region != region or not objects.keys(uri):
            text = (
                f'No S3 objects found under S3 URL "{uri}" given in input data source. Please '
                f"ensure that the bucket exists in the selected region ({region}), that objects "
                f'exist under that S3 prefix, and that the role "{document["RoleArn"]}" has '
                f'"s3:ListBucket" permissions on bucket "{bucket}".'
            )
            raise ServiceError("ValidationException", text)


def _violation(problem: Problem, document: object) -> str:
    if problem.rule == "model-key":
        return f"Unknown member at '{_member(problem.path)}'"
    shape, value, map_path, map_value = _at(problem.path, document)
    if problem.rule == "model-missing":
        return _text("null", _member(problem.path), "Member must not be null")
    if map_path:
        # The service shows the whole map here, with whatever is secret in it.
        shown = "{" + ", ".join(f"{key}={text}" for key, text in map_value.items()) + "}"
        rules = ", ".join(reversed(list(_constraints(shape))))
        part = "key" if "a key:" in problem.found else "value"
        constraint = f"Map {part} must satisfy constraint: [{rules}]"
        return _text(f"'{shown}'", map_path, constraint)
    broken = [text for text in _constraints(shape) if _KINDS[problem.rule] in text]
    number = len(value) if isinstance(value, (str, list, dict)) else value
    if problem.rule in ("model-length", "model-range") and len(broken) == 2:
        broken = broken[:1] if number < shape["min"] else broken[1:]
    return _text(f"'{value}'", _member(problem.path), broken[0])


_KINDS = {
    "model-enum": "enum value set",
    "model-pattern": "regular expression",
    "model-length": "length",
    "model-range": "value",
}


def _text(value: str, path: str, constraint: str) -> str:
    return f"Value {value} at '{path}' failed to satisfy constraint: {constraint}"


def _constraints(shape: Mapping[str, Any]) -> Iterator[str]:
    """A shape's constraints as the service words them: least, most, pattern, names."""
    what = "value" if shape["type"] in ("integer", "long", "float", "double") else "length"
    if "min" in shape:
        yield f"Member must have {what} greater than or equal to {shape['min']}"
    if "max" in shape:
        yield f"Member must have {what} less than or equal to {shape['max']}"
    if "pattern" in shape:
        yield f"Member must satisfy regular expression pattern: {shape['pattern']}"
    if "enum" in shape:
        yield f"Member must satisfy enum value set: [{', '.join(shape['enum'])}]"


def _at(path: str, document: Any) -> tuple[Mapping[str, Any], Any, str, Mapping[str, Any]]:
    """The shape and the value at ``path``; and the map that they stand in, if they do."""
    shapes = service_model.MODEL.shapes
    shape, value = shapes[service_model.MODEL.root], document
    map_path, map_value = "", {}
    for match in _STEP.finditer(path):
        name, index, quoted = match.groups()
        if shape["type"] == "list":
            shape, value = shapes[shape["member"]], value[int(index)]
        elif shape["type"] == "map":
            map_path, map_value = _member(path[: match.start()]), value
            shape, value = shapes[shape["value"]], value.get(name or quoted)
        else:
            key = name or quoted
            shape = shapes[shape["members"][key]]
            value = value.get(key) if isinstance(value, dict) else None
    return shape, value, map_path, map_value


def _member(path: str) -> str:
    """``$.InputDataConfig[0].ChannelName`` as ``inputDataConfig.1.member.channelName``."""
    words = []
    for name, index, quoted in _STEP.findall(path):
        text = name or quoted
        words.append(f"{int(index) + 1}.member" if index else text[:1].lower() + text[1:])
    return ".".join(words)

"""The shape of a CustomJob, the way the service's JSON spells it.

The official client finds the first mistake, after an import of most of a second, and takes some
documents that the service then refuses. `python -m infra.refresh.vertex_service_model` makes
service_model.json from the client's own descriptors. Whatever passes here, the client's
``CustomJob.from_json`` takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from launchers.core.model.problems import Problem
from launchers.core.rules.model_check import (
    fix_of_placeholder,
    not_one_of,
    shown,
    wrong_type,
)
from launchers.core.rules.service_model import ServiceModel, Shape
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import seconds_of
from launchers.vertex.tables import machines

# What may hold a credential is never shown.
_HIDDEN = (("EnvVar", "value"), ("ContainerSpec", "args"), ("PythonPackageSpec", "args"))

# google.protobuf.Duration: at most about 10,000 years.
_LONGEST_DURATION = 315_576_000_000
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z", re.ASCII)


def camel(key: str) -> str:
    """``machineSpec`` of ``machine_spec``."""
    head, *rest = key.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def _text(shape: Shape, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield wrong_type(value, "text", path)
    elif any("\ud800" <= character <= "\udfff" for character in value):
        yield RULES["model-text"].at(path, "half of a character")


def _int32(shape: Shape, value: object, path: str) -> Iterator[Problem]:
    yield from _integer(value, path, 31)


def _int64(shape: Shape, value: object, path: str) -> Iterator[Problem]:
    yield from _integer(value, path, 63)


def _integer(value: object, path: str, bits: int) -> Iterator[Problem]:
    """Protobuf's JSON takes a number or its digits as text, and prints 64 bits as text."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,30}", value, re.ASCII):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        fix = fix_of_placeholder(value) if isinstance(value, str) else ""
        yield RULES["model-type"].at(path, shown(value), "a whole number", fix)
    elif not -(2**bits) <= value < 2**bits:
        yield RULES["model-range"].at(path, shown(value), f"a number of {bits + 1} bits")


def _duration(shape: Shape, value: object, path: str) -> Iterator[Problem]:
    seconds = seconds_of(value)
    if seconds is None:
        fix = f'write "{value}s"' if re.fullmatch(r"\d{1,9}", str(value), re.ASCII) else ""
        yield RULES["model-type"].at(path, shown(value), 'seconds as text, such as "86400s"', fix)
    elif abs(seconds) > _LONGEST_DURATION:
        yield RULES["model-range"].at(path, shown(value), "a time below 10,000 years")


def _timestamp(shape: Shape, value: object, path: str) -> Iterator[Problem]:
    match = _TIMESTAMP.fullmatch(value) if isinstance(value, str) else None
    try:
        datetime.fromisoformat(match[1] if match else "")
    except ValueError:
        expected = 'a time such as "2026-01-31T12:00:00Z"'
        yield RULES["model-type"].at(path, shown(value), expected)


def _enum(shape: Shape, value: object, path: str) -> Iterator[Problem]:
    names = shape["numbers"]
    if isinstance(value, str) and value in names:
        return
    by_number = {str(number): name for name, number in names.items()}
    if str(value) in by_number and not isinstance(value, bool):
        name = by_number[str(value)]
        yield RULES["model-enum"].at(path, shown(value), "a name", f"write {name}")
    elif isinstance(value, str):
        found = not_one_of(list(names), value, path)
        if shape is MODEL.shapes["AcceleratorType"]:
            # By the GPU's name, as --accelerator does: NVIDIA_L4 for NVIDIA_TESLA_L4.
            fix = fix_of_placeholder(value) or machines.accelerator_suggestion(value)
            found = replace(found, fix=fix)
        yield found
    else:
        yield wrong_type(value, "text", path)


MODEL = ServiceModel(
    Path(__file__).with_name("service_model.json"),
    hidden=lambda shape, member: (shape, member) in _HIDDEN,
    readings={
        "string": _text,
        "int32": _int32,
        "int64": _int64,
        "duration": _duration,
        "timestamp": _timestamp,
        "enum": _enum,
    },
    json_name=camel,
)

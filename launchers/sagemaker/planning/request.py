"""``request:`` under ``sagemaker:``: the fields of CreateTrainingJob that no flag has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.document import at, entries
from launchers.core.model.problems import Problem
from launchers.core.rules.request import Block, Request, laid_over
from launchers.sagemaker.options import SageMakerJob
from launchers.sagemaker.rules.service_model import MODEL

BLOCK = Block("sagemaker.request", MODEL, Path(__file__).with_name("request_fields.json"))
_CHANNELS = "InputDataConfig"


def schema() -> dict[str, Any]:
    """What may be said, for editors."""
    return BLOCK.schema()


def request_of(job: SageMakerJob) -> Request:
    """What ``job`` asks for beyond its flags. Pure."""
    request = BLOCK.read(job)
    if _CHANNELS not in request.fields:
        return request
    return replace(request, problems=(*request.problems, *_channels(job, request.fields)))


def with_request(document: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """The request with those fields on top. The code's channel stays behind the others."""
    fields = dict(request.fields)
    if _CHANNELS in fields:
        fields[_CHANNELS] = [*fields[_CHANNELS], document[_CHANNELS][-1]]
    return laid_over(document, fields)


def _channels(job: SageMakerJob, fields: Mapping[str, Any]) -> list[Problem]:
    path = f"{BLOCK.name}.{_CHANNELS}"
    problems = []
    if job.options.channels:
        names = ", ".join(job.options.channels)
        fix = f"name the channels in one place: {names} by --channel, too, or all of them here"
        problems.append(RULES["request-field"].at(path, "together with --channel", fix=fix))
    for index, channel in enumerate(entries(fields, _CHANNELS)):
        groups = at(channel, "DataSource", "S3DataSource", "InstanceGroupNames")
        if groups is not None:
            where = f"{path}[{index}].DataSource.S3DataSource.InstanceGroupNames"
            fix = "a job of ours has no instance groups: every host gets every channel"
            problems.append(RULES["request-hosts"].at(where, "a list", fix=fix))
    return problems

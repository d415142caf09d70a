"""``request:`` under ``vertex:``: the fields of CustomJob that no flag has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.core.rules.request import Block, Request, laid_over
from launchers.vertex.document import CHIEF, WORKERS
from launchers.vertex.options import VertexJob
from launchers.vertex.rules.service_model import MODEL

BLOCK = Block("vertex.request", MODEL, Path(__file__).with_name("request_fields.json"))


def schema() -> dict[str, Any]:
    """What may be said, for editors."""
    return BLOCK.schema()


def request_of(job: VertexJob) -> Request:
    """What ``job`` asks for beyond its flags. Pure."""
    return BLOCK.read(job)


def with_request(document: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """The CustomJob with those fields on top; what is said of the pools goes into each pool of
    ranks, since those are alike."""
    fields = dict(request.fields)
    spec = dict(fields.get("jobSpec", {}))
    if "workerPoolSpecs" in spec:
        pools = document["jobSpec"]["workerPoolSpecs"]
        spec["workerPoolSpecs"] = [
            laid_over(pool, spec["workerPoolSpecs"]) if index in (CHIEF, WORKERS) and pool else pool
            for index, pool in enumerate(pools)
        ]
        fields["jobSpec"] = spec
    return laid_over(document, fields)

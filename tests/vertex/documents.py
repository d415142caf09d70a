"""CustomJobs for the tests: ours, rendered from flags, and those that the real SDK sent."""

from __future__ import annotations

import json
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

from launchers.core.pipeline import Prepared, prepare
from launchers.core.spec.job import JobSpec
from launchers.vertex.launcher import VERTEX
from launchers.vertex.options import VertexOptions
from launchers.vertex.planning.decide import make_plan
from launchers.vertex.planning.plan import VertexPlan
from tests.shared_source import source_of

CAPTURED = Path(__file__).parent / "captured" / "aiplatform-2.7.0"
IMAGE = "us-central1-docker.pkg.dev/my-project/launch/launch-horovod:0.1.0"
# What a submission has resolved: nothing is left a placeholder.
RESOLVED = {
    "project": "my-project",
    "region": "us-central1",
    "bucket": "gs://my-bucket",
    "image": IMAGE,
}


def job(**asked: Any) -> JobSpec:
    """The JobSpec of these fields; 2 instances with 4 GPUs unless said."""
    own = {field.name for field in fields(VertexOptions)}
    options = VertexOptions(**{name: asked.pop(name) for name in list(asked) if name in own})
    asked = {"instances": 2, "gpus": 4, **asked}
    return JobSpec(provider="vertex", options=options, **asked)


def planned(**asked: Any) -> VertexPlan:
    """The plan of these fields, without a name."""
    spec = job(**asked)
    return make_plan(spec, source_of(spec))


def prepared(**asked: Any) -> Prepared:
    """What `launch vertex` makes of these fields."""
    spec = job(**asked)
    return prepare(VERTEX, spec, source=source_of(spec))


def rendered(**asked: Any) -> dict[str, Any]:
    """The CustomJob alone, as a fresh copy."""
    return json.loads(prepared(**asked).definition.text)


def pools(**asked: Any) -> list[dict[str, Any]]:
    """Its worker pools."""
    return rendered(**asked)["jobSpec"]["workerPoolSpecs"]


def variables(document: dict[str, Any], pool: int = 0) -> dict[str, str]:
    """A pool's environment, as it stands in the document."""
    container = document["jobSpec"]["workerPoolSpecs"][pool]["containerSpec"]
    return {item["name"]: item["value"] for item in container["env"]}


def captured(name: str) -> dict[str, Any]:
    """A request that the real SDK sent, its enumerations by name."""
    return through_the_client((CAPTURED / name).read_text(encoding="utf-8"))


def through_the_client(text: str) -> dict[str, Any]:
    """A CustomJob read and written again by the official client, which refuses unknown keys."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from google.cloud import aiplatform_v1

        message = aiplatform_v1.CustomJob.from_json(text)
        return json.loads(
            aiplatform_v1.CustomJob.to_json(
                message,
                use_integers_for_enums=False,
                always_print_fields_with_no_presence=False,
            )
        )

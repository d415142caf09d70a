"""What Vertex AI refuses of a CustomJob before it makes one.

Source: Google, "REST Resource: projects.locations.customJobs" and "Requirements for labels".
Which machine takes which accelerator is left to the launcher's own rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from google.cloud.aiplatform_v1.types import custom_job as custom_job_types
from google.protobuf import json_format

from tests.fakes.google_wire import invalid, refused

_LABEL_KEY = re.compile(r"[a-z\u00df-\U0010ffff][a-z0-9_\-\u00df-\U0010ffff]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_\-\u00df-\U0010ffff]{0,63}")
# What only the service sets.
_OUTPUT_ONLY = ("name", "state", "createTime", "startTime", "endTime", "updateTime", "error")
_LONGEST_NAME = 128
_MOST_LABELS = 64


def parse(body: bytes) -> dict[str, Any]:
    """The document as protobuf JSON with enum names.

    Raises:
        ServiceError: It is no CustomJob.
    """
    try:
        message = custom_job_types.CustomJob.from_json(body.decode())
    except (json_format.ParseError, UnicodeDecodeError) as error:
        text = f"Invalid JSON payload received. {error}"
        violation = {"description": text}
        detail = {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [violation],
        }
        raise refused("INVALID_ARGUMENT", text, [detail]) from None
    document = json_format.MessageToDict(custom_job_types.CustomJob.pb(message))
    return {key: value for key, value in document.items() if key not in _OUTPUT_ONLY}


def as_numbers(told: Mapping[str, Any]) -> dict[str, Any]:
    """The same resource with enum numbers, as ``$alt=json;enum-encoding=int`` asks."""
    message = custom_job_types.CustomJob.from_json(json.dumps(told))
    numbers: dict[str, Any] = json_format.MessageToDict(
        custom_job_types.CustomJob.pb(message), use_integers_for_enums=True
    )
    return numbers


def check(document: Mapping[str, Any], location: str) -> None:
    """Refuse what the service would.

    Raises:
        ServiceError: With every mistake.
    """
    found: dict[str, str] = {}
    if not re.fullmatch(r"[a-z]+(-[a-z]+)+\d+", location):
        found["parent"] = f"Location {location} is not supported."
    name = str(document.get("displayName", ""))
    if not name:
        found["custom_job.display_name"] = "Required field is not set."
    elif len(name) > _LONGEST_NAME:
        found["custom_job.display_name"] = f"Must be at most {_LONGEST_NAME} characters long."
    found.update(_labels(document.get("labels", {})))
    found.update(_pools(document.get("jobSpec", {})))
    if found:
        raise invalid(found)


def _labels(labels: Mapping[str, str]) -> dict[str, str]:
    found = {}
    if len(labels) > _MOST_LABELS:
        found["custom_job.labels"] = f"At most {_MOST_LABELS} labels are allowed."
    for key, value in labels.items():
        where = f"custom_job.labels[{key}]"
        if not _LABEL_KEY.fullmatch(key):
            found[where] = f"Label key {key!r} is not valid."
        elif not _LABEL_VALUE.fullmatch(value):
            found[where] = f"Label value {value!r} is not valid."
    return found


def _pools(spec: Mapping[str, Any]) -> dict[str, str]:
    where = "custom_job.job_spec.worker_pool_specs"
    pools = spec.get("workerPoolSpecs", [])
    if not pools:
        return {where: "Required field is not set."}
    found = {}
    for number, pool in enumerate(pools):
        # A pool in the middle may be unused.
        if not pool and number:
            continue
        at = f"{where}[{number}]"
        if not pool.get("containerSpec") and not pool.get("pythonPackageSpec"):
            found[f"{at}.container_spec"] = "One of the task fields must be set."
        elif "containerSpec" in pool and not pool["containerSpec"].get("imageUri"):
            found[f"{at}.container_spec.image_uri"] = "Required field is not set."
        persistent = spec.get("persistentResourceId")
        if not pool.get("machineSpec", {}).get("machineType") and not persistent:
            found[f"{at}.machine_spec.machine_type"] = "Required field is not set."
        count = int(pool.get("replicaCount", 0))
        if count < 1 or (number == 0 and count != 1):
            text = "must be 1 for the first worker pool" if number == 0 else "must be positive"
            found[f"{at}.replica_count"] = f"Replica count {text}."
    return found

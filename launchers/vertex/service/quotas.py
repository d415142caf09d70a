"""Whether the project's quotas of custom training have room for a job, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from launchers.core.cloud.errors import with_retries
from launchers.core.cloud.preflight import good, unknown, wrong
from launchers.core.model.document import at, entries, whole_number
from launchers.core.model.problems import Problem
from launchers.vertex.service.session import GOOGLE_ERRORS, Session, is_missing
from launchers.vertex.tables.machines import machine

_API = "aiplatform.googleapis.com"
# Metrics by accelerator. Source: Vertex AI, quotas of custom training, `custom_model_training_*`;
# Spot and flex-start use those with `preemptible_` before the accelerator.
_METRICS = {
    "NVIDIA_TESLA_T4": "nvidia_t4",
    "NVIDIA_TESLA_P4": "nvidia_p4",
    "NVIDIA_TESLA_V100": "nvidia_v100",
    "NVIDIA_TESLA_A100": "nvidia_a100",
    "NVIDIA_A100_80GB": "nvidia_a100_80gb",
    "NVIDIA_L4": "nvidia_l4",
    "NVIDIA_H100_80GB": "nvidia_h100",
    "NVIDIA_H100_MEGA_80GB": "nvidia_h100_mega",
    "NVIDIA_H200_141GB": "nvidia_h200",
    "NVIDIA_B200": "nvidia_b200",
}
_PREEMPTIBLE = ("SPOT", "FLEX_START")
# Families whose vCPUs count as `custom_model_training_cpus`; of n1 also beside accelerators. The
# others have a metric of their own, `custom_model_training_n2_cpus`. Source: as above.
_PLAIN_FAMILIES = ("n1", "e2")


def quota_answers(session: Session, document: Mapping[str, Any]) -> list[Problem]:
    """One answer for each metric that the job counts in. Blocks for a request each.

    Raises:
        Exception: One of the cloud's errors.
    """
    resource = at(document, "jobSpec", "persistentResourceId")
    if resource:
        return [good("quota", f"the persistent resource {resource} has its machines already")]
    return [enough(session, metric, count) for metric, count in wanted(document).items()]


def wanted(document: Mapping[str, Any]) -> dict[str, int]:
    """Metric -> units of it in all replicas: GPUs and vCPUs."""
    strategy = at(document, "jobSpec", "scheduling", "strategy")
    kind = "preemptible_" if strategy in _PREEMPTIBLE else ""
    found: dict[str, int] = {}
    for pool in entries(at(document, "jobSpec"), "workerPoolSpecs"):
        replicas = whole_number(pool.get("replicaCount")) or 0
        for name, each in _of_one(at(pool, "machineSpec"), kind).items():
            found[name] = found.get(name, 0) + each * replicas
    return found


def _of_one(spec: Any, kind: str) -> dict[str, int]:
    """The same of one replica."""
    found: dict[str, int] = {}
    name = str(at(spec, "machineType") or "")
    accelerator = str(at(spec, "acceleratorType") or "")
    if accelerator:
        known = _METRICS.get(accelerator, accelerator.lower())
        count = whole_number(at(spec, "acceleratorCount")) or 0
        found[f"custom_model_training_{kind}{known}_gpus"] = count
    family, row = name.partition("-")[0], machine(name)
    if row and (not accelerator or family in _PLAIN_FAMILIES):
        which = "" if family in _PLAIN_FAMILIES else f"{family}_"
        found[f"custom_model_training_{kind}{which}cpus"] = row.vcpus
    return found


def enough(session: Session, metric: str, count: int) -> Problem:
    """Whether a metric's limit in the session's location has room for ``count``. Blocks for one
    request.

    Raises:
        Exception: One of the cloud's errors.
    """
    location = session.location
    path = f"v1beta1/projects/{session.project}/services/{_API}/consumerQuotaMetrics/"
    path += quote(f"{_API}/{metric}", safe="")
    try:
        found = with_retries(session, lambda: session.get("serviceusage", path))
    except GOOGLE_ERRORS as error:
        if not is_missing(error):
            raise
        return unknown("quota", f"the project has none by the name {metric}")
    limit = _limit(found, location)
    if limit is None:
        return unknown("quota", f"{metric} says nothing of {location}")
    if 0 <= limit < count:
        fix = "ask for more in the console under IAM & Admin > Quotas, or use another --machine"
        return wrong("quota", f"{limit} for {metric} in {location}", f"at least {count}", fix)
    many = "no limit" if limit < 0 else str(limit)
    return good("quota", f"{many} for {metric}, {count} needed")


def _limit(metric: Mapping[str, Any], location: str) -> int | None:
    """The lowest effective limit in a location: of each quota that region's bucket, else the one
    of all regions; -1 for none. None where the answer says nothing of it."""
    limits: list[int] = []
    for quota in entries(metric, "consumerQuotaLimits"):
        by_region: dict[str, int] = {}
        for bucket in entries(quota, "quotaBuckets"):
            dimensions = at(bucket, "dimensions") or {}
            # int64 of the JSON mapping; 0 is left out.
            by_region[str(dimensions.get("region", ""))] = int(bucket.get("effectiveLimit", 0))
        limit = by_region.get(location, by_region.get(""))
        if limit is not None:
            limits.append(limit)
    finite = [limit for limit in limits if limit >= 0]
    return min(finite) if finite else (-1 if limits else None)

"""A job's name, ``<name>-<digest8>-<n>``: the same request has the same digest on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from launchers.core.spec.job import JobSpec, base_name

# Room for `-<digest8>-<n>` within the 63 characters of the strictest provider (SageMaker's
# TrainingJobName): 63 - 1 - 8 - 1 - 4.
_LONGEST_BASE = 49


def job_base(job: JobSpec, document: Mapping[str, Any], source_hash: str) -> str:
    """The name without its run number.

    Args:
        document: The request document without name, role, bucket and whatever else is not the
            job itself (the provider leaves them out).
        source_hash: SHA-256 of the source bundle, hexadecimal.
    """
    canonical = json.dumps(
        [document, source_hash], sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()[:8]
    return f"{base_name(job)[:_LONGEST_BASE].rstrip('-')}-{digest}"


def job_name(base: str, run: int) -> str:
    """The whole name of one run."""
    return f"{base}-{run}"

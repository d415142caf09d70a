"""A job's name, ``<name>-<digest8>-<n>``: the same request has the same digest on every machine.

A plan is made without a name, since the digest is that of its document, and is then given its run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.records.entry import Entry
from launchers.core.spec.job import JobSpec, base_name

# Room for `-<digest8>-<n>` within the 63 characters of the strictest provider (SageMaker's
# TrainingJobName): 63 - 1 - 8 - 1 - 4.
_LONGEST_BASE = 49
# The name of a plan that has no run yet.
_UNNAMED = "NAME"


@dataclass(frozen=True)
class Run:
    """Which run of a request a job is.

    Attributes:
        base: The job's name without the number; empty as long as the plan has no name.
        number: n.
        why: For the plan's line; empty where there is nothing to say.
        existing: The ledger's job that makes a new one needless: it runs, or has succeeded.
        inherited: The run whose checkpoints this one goes on from.
        unlike: What makes it another job than the last of the same command, for the plan's lines.
    """

    base: str = ""
    number: int = 1
    why: str = ""
    existing: Entry | None = None
    inherited: Entry | None = None
    unlike: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The job's whole name."""
        return job_name(self.base, self.number) if self.base else _UNNAMED

    @property
    def digest(self) -> str:
        """The first 8 digits of the request's digest; empty as long as there is no name."""
        return self.base.rpartition("-")[2]


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
    return f"{shortened_name(job)}-{digest}"


def shortened_name(job: JobSpec) -> str:
    """The first part of the job's name, cut to what leaves room for digest and number."""
    return base_name(job)[:_LONGEST_BASE].rstrip("-")


def job_name(base: str, run: int) -> str:
    """The whole name of one run."""
    return f"{base}-{run}"

"""The shared scripts as a job's source, read once in a process: no test edits them."""

from __future__ import annotations

from functools import cache

from launchers.core.source.script import JobSource, read_source
from launchers.core.spec.job import JobSpec


def source_of(job: JobSpec) -> JobSource:
    """The job's source; what a test may have written itself is read anew."""
    if any((job.script, job.module, job.source, job.requirements, job.allow_values)):
        return read_source(job)
    return _shared()


@cache
def _shared() -> JobSource:
    return read_source(JobSpec())

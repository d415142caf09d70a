"""What a job has left in its folder, found by what the ledger knows of the job."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.jobs import FINAL_STATES, JobHandle
from launchers.core.model.problems import LaunchError
from launchers.machine.supervised.folder import JobFolder, read_object


def folder_of(handle: JobHandle) -> JobFolder:
    """The job's own folder.

    Raises:
        LaunchError: The ledger does not know it: the job has not started yet.
    """
    if not handle.details.get("folder"):
        fix = f"see `launch status {handle.name}`: a job has its folder when it has started"
        raise LaunchError(RULES["job-folder"].at("JOB", f"{handle.name} has none", fix=fix))
    return JobFolder(Path(handle.details["folder"]))


def document_of(handle: JobHandle) -> dict[str, Any]:
    """The document that was sent, for what no answer depends on; empty where it cannot be read."""
    with contextlib.suppress(LaunchError):
        return read_object(folder_of(handle).definition)
    return {}


def result_of(details: Mapping[str, Any]) -> dict[str, Any]:
    """How the job ended, by its supervisor's word; empty where there is none.

    Raises:
        LaunchError: It may be there, and cannot be read now.
    """
    if not details.get("folder"):
        return {}
    result = read_object(JobFolder(Path(details["folder"])).result)
    return result if result.get("state") in FINAL_STATES else {}


def with_result(details: Mapping[str, Any]) -> dict[str, Any]:
    """A job's details and what its result says, where that can be read: no state depends on it."""
    with contextlib.suppress(LaunchError):
        return {**details, **result_of(details)}
    return dict(details)

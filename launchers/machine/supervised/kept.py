"""What a job has left in its folder, found by what the ledger knows of the job."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
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


def require_folder(handle: JobHandle) -> None:
    """Nothing, where the job's folder is there.

    Raises:
        LaunchError: It is not: without it nobody can tell what the job has printed.
        OSError: Nobody can say now.
    """
    place = folder_of(handle).path
    if not place.is_dir():
        fix = (
            "if it was deleted, its lines are gone with it, and "
            f"`launch status {handle.name}` says how it ended; if not, mount its file system"
        )
        raise LaunchError(RULES["job-folder"].at(str(place), "no such folder", fix=fix))


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
    if not isinstance(result.get("state"), str) or result["state"] not in FINAL_STATES:
        return {}
    # The job's script may write there too.
    return {name: value for name, value in result.items() if isinstance(value, _kinds(name))}


def _kinds(name: str) -> tuple[type, ...]:
    """What the supervisor writes under ``name``."""
    if name in ("started", "ended"):
        return (float, int, NoneType)
    return (dict, NoneType) if name in ("failure", "exit_codes") else (str,)


def with_result(details: Mapping[str, Any]) -> dict[str, Any]:
    """A job's details and what its result says, where that can be read: no state depends on it."""
    with contextlib.suppress(LaunchError):
        return {**details, **result_of(details)}
    return dict(details)

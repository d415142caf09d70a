"""The project's custom jobs: finding one, comparing one with a document, ending one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict

from launchers.core.cloud.errors import with_retries
from launchers.core.cloud.job import CLOCK_SECONDS
from launchers.core.cloud.sending import is_subset
from launchers.core.model.document import at
from launchers.core.model.jobs import JobHandle
from launchers.core.model.problems import Problem
from launchers.core.records.ledger import Ledger
from launchers.core.records.nonce import filled_text
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import DIGEST_LABEL, RUN_LABEL
from launchers.vertex.service.session import (
    GOOGLE_ERRORS,
    TIMEOUT_SECONDS,
    Session,
    is_missing,
)
from launchers.vertex.service.states import seconds_of

# Of a pool, what makes two jobs the same; the service adds defaults of its own to the rest.
_COMPARED = ("containerSpec", "replicaCount", "machineSpec")
_BUCKET = re.compile("/gcs/[^/]+/launch/")


def described(session: Session, resource: str) -> dict[str, Any] | None:
    """The job as protobuf's JSON; None where there is no such job. One attempt.

    Raises:
        Exception: One of the cloud's errors.
    """
    try:
        found = session.jobs().get_custom_job(name=resource, retry=None, timeout=TIMEOUT_SECONDS)
    except GOOGLE_ERRORS as error:
        if is_missing(error):
            return None
        raise
    return _as_json(found)


def located(
    session: Session, handle: JobHandle, tell: Callable[[str], None] = lambda text: None
) -> str | None:
    """The job's resource name: what the handle says, else the one that the list has under the
    ledger's intent, which is then kept there.

    A launcher that was killed between the answer and its ledger leaves a job without one.

    Raises:
        Exception: One of the cloud's errors.
    """
    if handle.details.get("resource"):
        return str(handle.details["resource"])
    ledger = Ledger()
    entry = ledger.get("vertex", handle.name)
    if entry is None:
        return None
    if not entry.details.get("resource"):
        document = parsed(filled_text(entry.definition, entry.nonce))
        jobs = jobs_where(session, handle.name, labels_filter(handle.name))
        ours = [job for job in jobs if is_ours(job, document, entry.created)]
        if not ours or "sent" not in entry.details:
            return None
        resource = oldest(session, ours, tell)
        ledger.update(entry, details={**entry.details, "resource": resource})
        return resource
    return str(entry.details["resource"])


def resources_of(session: Session, name: str) -> list[str]:
    """The resource names of every job of that display name, the oldest first.

    Raises:
        LaunchError: The service refused.
    """
    try:
        wanted = f"display_name={json.dumps(name, ensure_ascii=False)}"
        jobs = with_retries(session, lambda: jobs_where(session, name, wanted))
    except GOOGLE_ERRORS as error:
        raise session.refused(error, f"Vertex AI, {name}") from None
    return [str(job["name"]) for job in jobs]


def no_such_job(session: Session, name: str) -> Problem:
    """There is none of that name in the project and location."""
    return RULES["job-unknown"].at(
        f"vertex:{name}",
        f"no such custom job in project {session.project}, {session.location}",
        "a job's number or name",
        "check --region and the project, see `gcloud ai custom-jobs list --project "
        f"{session.project} --region {session.location}`",
    )


def jobs_where(session: Session, name: str, wanted: str) -> list[dict[str, Any]]:
    """The jobs that a filter finds and that have exactly that display name, the oldest first."""
    from google.cloud.aiplatform_v1 import ListCustomJobsRequest

    request = ListCustomJobsRequest(parent=session.parent, filter=wanted, page_size=100)
    found = session.jobs().list_custom_jobs(request=request, retry=None, timeout=TIMEOUT_SECONDS)
    jobs = [_as_json(job) for job in found]
    named = [job for job in jobs if job.get("displayName") == name]
    return sorted(named, key=created_at)


def labels_filter(name: str) -> str:
    """The filter for a job's digest and run: ``<name>-<digest8>-<n>`` has both."""
    base, _, run = name.rpartition("-")
    return f'labels.{DIGEST_LABEL}="{base.rpartition("-")[2]}" AND labels.{RUN_LABEL}="{run}"'


def created_at(found: Mapping[str, Any]) -> float:
    """When a job was created, in seconds since the epoch; 0.0 where the service does not say."""
    said = str(found.get("createTime", ""))
    return seconds_of(said) if said else 0.0


def parsed(text: str) -> dict[str, Any]:
    """A document as the client reads it, in the form of a description."""
    from google.cloud.aiplatform_v1 import CustomJob

    return _as_json(CustomJob.from_json(text))


def is_ours(found: Mapping[str, Any], document: Mapping[str, Any], intended: float) -> bool:
    """Whether a job is the one that was meant: made since then, and of the same containers.

    Args:
        document: See :func:`parsed`.
        intended: In seconds since the epoch, by this machine's clock.
    """
    pools = at(document, "jobSpec", "workerPoolSpecs") or []
    there = at(found, "jobSpec", "workerPoolSpecs") or []
    wanted = [{key: pool[key] for key in _COMPARED if key in pool} for pool in pools]
    same = is_subset(_without_bucket(there), _without_bucket(wanted))
    return same and created_at(found) >= intended - CLOCK_SECONDS


def _without_bucket(pools: list[Any]) -> Any:
    """A second attempt may well come with another bucket."""
    return json.loads(_BUCKET.sub("/gcs//launch/", json.dumps(pools)))


def oldest(session: Session, jobs: list[dict[str, Any]], tell: Callable[[str], None]) -> str:
    """The job to follow; of others, which should not be, it says how to end them."""
    for other in jobs[1:]:
        number = str(other["name"]).rpartition("/")[2]
        tell(
            f"there is a second job of that name, {number}; end it: launch cancel vertex:{number} "
            f"--region {session.location}"
        )
    return str(jobs[0]["name"])


def _as_json(job: Any) -> dict[str, Any]:
    found: dict[str, Any] = MessageToDict(type(job).pb(job))
    return found

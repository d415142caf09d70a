"""A custom job's states in the words of every provider, and in words for a person.

A description here is the CustomJob resource as protobuf's JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from launchers.core.model.document import at, whole_number
from launchers.core.model.jobs import (
    FAILED,
    PENDING,
    RUNNING,
    STOPPED,
    STOPPING,
    SUCCEEDED,
    TIMED_OUT,
)

# JobState -> our word, and words for a person. Source: Vertex AI API, JobState.
_STATES = {
    "JOB_STATE_QUEUED": (PENDING, "queued: waiting for machines"),
    "JOB_STATE_PENDING": (PENDING, "pending: the service prepares the job"),
    "JOB_STATE_RUNNING": (RUNNING, "running"),
    "JOB_STATE_SUCCEEDED": (SUCCEEDED, "succeeded"),
    "JOB_STATE_FAILED": (FAILED, "failed"),
    "JOB_STATE_CANCELLING": (STOPPING, "cancelling"),
    "JOB_STATE_CANCELLED": (STOPPED, "cancelled"),
    "JOB_STATE_PAUSED": (PENDING, "paused"),
    "JOB_STATE_EXPIRED": (TIMED_OUT, "expired"),
    "JOB_STATE_UPDATING": (RUNNING, "updating"),
    "JOB_STATE_PARTIALLY_SUCCEEDED": (FAILED, "partially succeeded"),
}
_ENDS = frozenset(
    {
        "JOB_STATE_SUCCEEDED",
        "JOB_STATE_FAILED",
        "JOB_STATE_CANCELLED",
        "JOB_STATE_EXPIRED",
        "JOB_STATE_PARTIALLY_SUCCEEDED",
    }
)
# google.rpc.Code.DEADLINE_EXCEEDED
_DEADLINE_EXCEEDED = 4


def state_of(found: Mapping[str, Any]) -> str:
    """The state of a description; a job that the service calls succeeded is so here, whatever its
    proof. One that nobody has heard of yet is pending."""
    state, _ = _STATES.get(_said(found), (PENDING, ""))
    if state == FAILED and whole_number(at(found, "error", "code")) == _DEADLINE_EXCEEDED:
        return TIMED_OUT
    return state


def has_ended(found: Mapping[str, Any]) -> bool:
    """Whether the service is done with the job."""
    return _said(found) in _ENDS


def in_words(found: Mapping[str, Any]) -> str:
    """``cancelled (by somebody@example.com)``; of a failed job the word alone, since the service's
    reason is the verdict's to tell (:func:`reason_of`)."""
    said = _said(found)
    _, words = _STATES.get(said, (PENDING, said.removeprefix("JOB_STATE_").lower()))
    message = "" if said == "JOB_STATE_FAILED" else _message(found)
    return f"{words} ({message})" if message else words


def reason_of(found: Mapping[str, Any]) -> str:
    """Why the job ended as it did; the service's own reason where it gives one."""
    message = _message(found)
    if message and state_of(found) == FAILED and _said(found) == "JOB_STATE_FAILED":
        return message
    return "" if state_of(found) == SUCCEEDED else in_words(found)


def seconds_of(text: str) -> float:
    """An RFC 3339 time in UTC, of up to nine digits after the point, in seconds since the epoch.

    Example:
        >>> seconds_of("1970-01-01T00:00:01.500000001Z")
        1.500000001
    """
    whole = datetime.fromisoformat(f"{text[:19]}+00:00").timestamp()
    fraction = text[19:].rstrip("Z")
    return whole + float(fraction) if fraction else whole


def _said(found: Mapping[str, Any]) -> str:
    return str(found.get("state") or "JOB_STATE_UNSPECIFIED")


def _message(found: Mapping[str, Any]) -> str:
    return " ".join(str(at(found, "error", "message") or "").split())

"""What is told of a job's end: the same to a webhook, to a command and on a desktop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.credentials.elsewhere import without_credentials
from launchers.core.model.jobs import SUCCEEDED, JobHandle, JobStatus
from launchers.core.printable import printable

Notice = Mapping[str, Any]
# A reason may be as long as a service likes.
_LONGEST = 500


def notice_of(
    handle: JobHandle,
    title: str,
    status: JobStatus,
    known: Mapping[str, Any],
    next_command: str,
) -> Notice:
    """The notice of a job that has ended. It holds no credential and nothing that a terminal
    would obey.

    Args:
        title: The provider's, for people.
        known: World size, console and times of the job, as `launch status --json` has them.
        next_command: What its reader would run now.
    """
    reason, proof = _line(status.reason), _line(status.proof)
    why = (proof if status.state == SUCCEEDED else reason) or status.state
    return {
        "name": handle.name,
        "provider": handle.provider,
        "state": status.state,
        "world_size": known.get("world_size"),
        "proof": proof,
        "reason": reason,
        "started": known.get("started") or known.get("created"),
        "ended": known.get("ended"),
        "console": known.get("console"),
        "next": next_command,
        "text": f"{handle.name} on {title}: {status.state}. {why}\nnext: {next_command}",
    }


def sample() -> Notice:
    """What `launch notify --test` sends."""
    return {
        "name": "notify-test",
        "provider": "local",
        "state": SUCCEEDED,
        "world_size": 1,
        "proof": "",
        "reason": "",
        "started": None,
        "ended": None,
        "console": None,
        "next": "launch list",
        "text": "a test of `launch notify`: this is where you hear of your jobs\nnext: launch list",
    }


def _line(text: str) -> str:
    text = without_credentials(printable(text))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."

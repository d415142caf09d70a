"""A container's output as whole lines with their times, and its end: one thread a container.

Lines come through the engine's log, from the container's start on; so none is lost between a
start and the first look, and the end is told after the last line.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from queue import SimpleQueue
from typing import Any

_TIME = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ")
_LONGEST = 1_000_000  # bytes of one line; more is cut, so that no output fills the memory


@dataclass(frozen=True)
class Line:
    """One whole line that a container printed.

    Attributes:
        time: When the engine took it, in seconds since the epoch.
    """

    container: str
    time: float
    text: str


@dataclass(frozen=True)
class Exit:
    """A container's end.

    Attributes:
        code: Its exit code, or None where the container is gone.
        out_of_memory: Whether the kernel ended a process in it at its memory limit.
        error: What the engine says where it could not run it; else empty.
    """

    container: str
    code: int | None
    out_of_memory: bool = False
    error: str = ""


@dataclass(frozen=True)
class EngineLost:
    """The engine answers no more; ``error`` names how that showed."""

    container: str
    error: str


Event = Line | Exit | EngineLost


def follow(api: Any, container: str, container_id: str, events: SimpleQueue[Event]) -> None:
    """Put every line and then the end of a started container into ``events``; returns at once.

    Args:
        api: The engine's low-level client.
        container: The name that events carry.
    """
    threading.Thread(
        target=_follow,
        args=(api, container, container_id, events),
        name=f"output of {container}",
        daemon=True,
    ).start()


def _follow(api: Any, container: str, container_id: str, events: SimpleQueue[Event]) -> None:
    from docker.errors import DockerException, NotFound
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    last = 0.0
    try:
        while True:
            # Again after an engine that ended the stream early; what was seen is left out.
            seen = last
            entries = api.logs(
                container_id, stream=True, follow=True, timestamps=True, since=seen or None
            )
            for time, text in whole_lines(entries):
                if time > seen:
                    events.put(Line(container, time, text))
                last = max(last, time)
            state = api.inspect_container(container_id)["State"]
            if not state["Running"]:
                break
    except NotFound:
        events.put(Exit(container, None, error="it was removed"))
        return
    except (RequestException, DockerException, HTTPError, OSError, ValueError) as error:
        events.put(EngineLost(container, type(error).__name__))
        return
    events.put(Exit(container, state["ExitCode"], state["OOMKilled"], state.get("Error", "")))


def whole_lines(entries: Iterable[bytes]) -> Iterator[tuple[float, str]]:
    """Lines of a log whose entries each begin with their time.

    An entry without a line's end is a part of a long line; a carriage return does not end a line.
    """
    time, partial = 0.0, b""
    for entry in entries:
        moment, data = _split(entry)
        time = time if partial else moment
        partial = (partial + data)[:_LONGEST] if len(partial) < _LONGEST else partial
        if not data.endswith(b"\n"):
            continue
        yield time, partial.rstrip(b"\r\n").decode("utf-8", "replace")
        partial = b""
    if partial:
        yield time, partial.rstrip(b"\r\n").decode("utf-8", "replace")


def _split(entry: bytes) -> tuple[float, bytes]:
    match = _TIME.match(entry)
    if not match:
        return 0.0, entry
    zone = "+00:00" if match[3] == b"Z" else match[3].decode()
    moment = datetime.fromisoformat(match[1].decode() + zone).astimezone(timezone.utc)
    fraction = int(match[2].ljust(9, b"0")) / 1e9 if match[2] else 0.0
    return moment.timestamp() + fraction, entry[match.end() :]

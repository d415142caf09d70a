"""The lines of a custom job from Cloud Logging: every line once, in order a replica, in bounded
memory.

One query gives the lines of all replicas merged in time. A replica's lines may come late, so each
query begins a little before the last line of each replica, and what was given is known by its
insertId. One query for all of them, because a project has 60 reads a minute (Google, "Cloud Logging
quotas").
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import chain
from typing import Any

from launchers.core.cloud.errors import RetryingCaller
from launchers.core.model.document import at
from launchers.vertex.service.session import Session
from launchers.vertex.service.states import seconds_of

PAGE_LINES = 1000
# How far back the replicas' lines are asked for again, in seconds and in lines of all of them: two
# pages a round, since a project has 60 reads a minute.
_OVERLAP_SECONDS = 60.0
_OVERLAP_LINES = 2 * PAGE_LINES
# A filter takes 20,000 characters (Google, "Logging query language"); a replica's part has a
# hundred.
_MOST_REPLICAS = 150
_TASK = "resource.labels.task_name"
_FIRST = "workerpool0-0"
_MOST_EMPTY = 3  # pages, where the newest ones come empty


@dataclass(frozen=True)
class RawLine:
    """A line as Cloud Logging has it: seconds since the epoch, the replica's name in the job
    (``workerpool0-0``; ``service`` for the service's own), the text."""

    time: float
    replica: str
    text: str


@dataclass
class _Replica:
    """What of one replica was given.

    Attributes:
        before: Everything up to this time was given, as Cloud Logging writes it.
        given: (time, insertId) of what was given after it.
    """

    before: str = ""
    given: deque[tuple[str, str, float]] = field(default_factory=deque)
    known: set[tuple[str, str]] = field(default_factory=set)

    def is_new(self, moment: str, insert_id: str, seconds: float, lines: int) -> bool:
        """Whether the line was not given yet; it counts as given from now on.

        Args:
            moment: Its time as a text that can be compared.
            seconds: The same, since the epoch.
            lines: How many given lines to ask for again.
        """
        key = (moment, insert_id)
        if key in self.known or (self.before and moment <= self.before):
            return False
        self.known.add(key)
        self.given.append((*key, seconds))
        while len(self.given) > lines or seconds - self.given[0][2] > _OVERLAP_SECONDS:
            self._forget_oldest()
        return True

    def _forget_oldest(self) -> None:
        """The overlap begins later."""
        self.before = max(self.before, self.given[0][0])
        while self.given and self.given[0][0] <= self.before:
            moment, insert_id, _ = self.given.popleft()
            self.known.discard((moment, insert_id))


class LogPages:
    """Reads a job's lines in rounds; a round gives all that can be read by now.

    Args:
        resource: The job's resource name.
        since: Leave out older lines, in seconds since the epoch.
        tell: Takes a line for a person where reading has to wait.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        session: Session,
        resource: str,
        since: float = 0.0,
        tell: Callable[[str], None] = lambda text: None,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self._session, self._since = session, since
        self._job = (
            f'resource.type="ml_job" AND resource.labels.job_id="{resource.rpartition("/")[2]}"'
        )
        self._caller = RetryingCaller(session, tell, sleep)
        self._replicas: dict[str, _Replica] = {}

    def round(self, until: float | None = None) -> Iterator[RawLine]:
        """What has come since the last round. Blocks; waits out throttling, lost connections and
        expired credentials.

        Args:
            until: Leave younger lines for later, in seconds since the epoch: some of them may not
                be there yet.

        Raises:
            Exception: One of the cloud's errors: the caller may not read the logs.
        """
        wanted = [self._job, *self._beginnings()]
        if self._since:
            wanted.append(f'timestamp>="{_text_of(self._since)}"')
        if until is not None:
            wanted.append(f'timestamp<="{_text_of(until)}"')
        for number, page in enumerate(self._pages_of(" AND ".join(wanted))):
            for entry in page:
                name = _replica_of(entry)
                if number and name not in self._replicas:
                    yield from self._beginning_of(name, str(entry.get("timestamp", "")))
                yield from self._new_lines(name, entry)

    def holding(self, words: Sequence[str], since: float = 0.0) -> Iterator[RawLine]:
        """Only lines that hold one of ``words``. Nothing counts as given.

        Args:
            since: Leave out what is older, in seconds since the epoch.

        Raises:
            Exception: One of the cloud's errors.
        """
        texts = " OR ".join(json.dumps(text) for text in words)
        wanted = [self._job, f"(jsonPayload.message:({texts}) OR textPayload:({texts}))"]
        if since:
            wanted.append(f'timestamp>="{_text_of(since)}"')
        for entry in chain.from_iterable(self._pages_of(" AND ".join(wanted))):
            seconds = _seconds_of(str(entry.get("timestamp", "")))
            yield from _lines(entry, seconds, _replica_of(entry))

    def newest_of_first_replica(self) -> list[RawLine]:
        """The last lines of ``workerpool0-0``, the oldest first; 1,000 entries at the most. Asked
        once, and another time where a page comes empty. Nothing counts as given.

        Raises:
            Exception: One of the cloud's errors.
        """
        body: dict[str, Any] = {
            "resourceNames": [f"projects/{self._session.project}"],
            "filter": f'{self._job} AND {_TASK}="{_FIRST}"',
            "orderBy": "timestamp desc",
            "pageSize": PAGE_LINES,
        }
        for _ in range(_MOST_EMPTY):
            page = self._session.post("logging", "v2/entries:list", body)
            if page.get("entries") or not page.get("nextPageToken"):
                break
            body = {**body, "pageToken": page["nextPageToken"]}
        found: list[RawLine] = []
        for entry in reversed(page.get("entries", [])):
            found += _lines(entry, _seconds_of(str(entry.get("timestamp", ""))), _FIRST)
        return found

    def _beginning_of(self, name: str, until: str) -> Iterator[RawLine]:
        """A replica's lines up to one that was met on a later page: some may have become readable
        only after the pages on which they belong were read."""
        wanted = [self._job, f'{_TASK}="{name}"', f'timestamp<="{until}"']
        if self._since:
            wanted.append(f'timestamp>="{_text_of(self._since)}"')
        for entry in chain.from_iterable(self._pages_of(" AND ".join(wanted))):
            yield from self._new_lines(name, entry)

    def _new_lines(self, name: str, entry: Mapping[str, Any]) -> Iterator[RawLine]:
        """The entry's lines, unless they were given."""
        moment, mark = str(entry.get("timestamp", "")), str(entry.get("insertId", ""))
        replica = self._replicas.setdefault(name, _Replica())
        seconds, lines = _seconds_of(moment), _OVERLAP_LINES // len(self._replicas)
        if replica.is_new(_comparable(moment), mark, seconds, max(lines, 1)):
            yield from _lines(entry, seconds, name)

    def _pages_of(self, wanted: str) -> Iterator[list[Mapping[str, Any]]]:
        body: dict[str, Any] = {
            "resourceNames": [f"projects/{self._session.project}"],
            "filter": wanted,
            "orderBy": "timestamp asc",
            "pageSize": PAGE_LINES,
        }
        while True:
            page = self._page(body)
            yield page.get("entries", [])
            # A page may be empty and others follow.
            token = page.get("nextPageToken")
            if not token:
                return
            body = {**body, "pageToken": token}

    def _page(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._caller.call(lambda: self._session.post("logging", "v2/entries:list", body))

    def _beginnings(self) -> list[str]:
        """The filter's parts that leave out what was given, replica by replica."""
        begun = {name: one.before for name, one in self._replicas.items() if one.before}
        if not begun:
            return []
        if len(begun) > _MOST_REPLICAS:
            return (
                [f'timestamp>"{min(begun.values())}"'] if len(begun) == len(self._replicas) else []
            )
        parts = [f'({_TASK}="{name}" AND timestamp>"{at}")' for name, at in begun.items()]
        names = " OR ".join(f'"{name}"' for name in begun)
        return [f"({' OR '.join(parts)} OR NOT {_TASK}=({names}))"]


def _replica_of(entry: Mapping[str, Any]) -> str:
    return str(at(entry, "resource", "labels", "task_name") or "")


def _seconds_of(moment: str) -> float:
    return seconds_of(moment) if moment else 0.0


def _lines(entry: Mapping[str, Any], seconds: float, replica: str) -> Iterator[RawLine]:
    """The lines in one entry: jsonPayload.message, else textPayload."""
    text = at(entry, "jsonPayload", "message")
    if text is None:
        text = entry.get("textPayload") or ""
    for line in str(text).splitlines() or [""]:
        yield RawLine(seconds, replica, line)


def _comparable(moment: str) -> str:
    """A time with nine digits after the point, so that texts compare as times do."""
    whole, _, fraction = moment.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<9}Z"


def _text_of(seconds: float) -> str:
    """A time as Cloud Logging writes it."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

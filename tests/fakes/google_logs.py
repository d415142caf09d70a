"""The fake Cloud Logging: entries.list over what the replicas of CustomJobs wrote.

Source: Google, "Method: entries.list", "Logging query language" and "Quotas and limits".
Entries come by their timestamps, those of one timestamp by their insertIds. A page's token names
the last entry of the page: what becomes readable later and lies before it is not on later pages.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from tests.fakes import google_filters
from tests.fakes.clock import Clock
from tests.fakes.google_account import GoogleAccount, denied
from tests.fakes.google_filters import Comparison, Node, Some
from tests.fakes.google_job_states import CustomJob
from tests.fakes.google_jobs import CustomJobs
from tests.fakes.google_log_entries import (
    MILLISECOND,
    Line,
    bounds,
    entry_of,
    is_of_stream,
    jobs_named,
    line_comparison,
    stream_comparison,
)
from tests.fakes.google_wire import TOO_MANY_READS, read_json, refused
from tests.fakes.log_streams import Stream
from tests.fakes.wire import Request

# Characters of a filter.
_LONGEST_FILTER = 20_000


class LogEntries:
    """Reads the lines of :class:`CustomJobs`.

    Attributes:
        reads_per_minute: More of them than that in a minute of the clock are answered 429; None
            for no limit. The service's own figure is 60 a project.
        page_entries: The most that a page holds, whatever is asked for.
        empty_pages_every: Every so-many pages that have something to say come empty first, with
            a token that leads on; 0 for never.
        as_text: Whether lines are in textPayload, instead of jsonPayload.message.
    """

    def __init__(self, account: GoogleAccount, clock: Clock, jobs: CustomJobs):
        self._account, self._clock, self._jobs = account, clock, jobs
        self._reads: deque[float] = deque()
        self._lock = threading.Lock()
        self._pages = 0
        self.reads_per_minute: int | None = None
        self.page_entries = 1000
        self.empty_pages_every = 0
        self.as_text = False
        self.operations: dict[str, Callable[[Request], dict[str, Any]]] = {
            "entries.list": self._list
        }

    def _list(self, request: Request) -> dict[str, Any]:
        self._count_read()
        asked = read_json(request)
        self._check_resources(asked)
        size = int(asked.get("pageSize", 50) or 50)
        if not 1 <= size <= 1000:
            raise refused("INVALID_ARGUMENT", "page_size must be between 1 and 1000")
        order = asked.get("orderBy", "") or "timestamp asc"
        if order not in ("timestamp asc", "timestamp desc", "timestamp"):
            raise refused("INVALID_ARGUMENT", f"Invalid orderBy: {order!r}")
        backwards = order.endswith("desc")
        text = str(asked.get("filter", ""))
        if len(text) > _LONGEST_FILTER:
            raise refused("INVALID_ARGUMENT", f"filter exceeds {_LONGEST_FILTER} characters")
        mark = hashlib.sha256(json.dumps([text, order]).encode()).hexdigest()[:16]
        place = _place(str(asked.get("pageToken", "")), mark)
        lines = self._lines(google_filters.parse(text), backwards, place)
        return self._page(lines, min(size, self.page_entries), mark, place)

    def _page(
        self, lines: Iterator[Line], size: int, mark: str, place: tuple[int, str] | None
    ) -> dict[str, Any]:
        entries: list[dict[str, Any]] = []
        last = place
        for line in lines:
            if not entries and self._comes_empty():
                first = place or (0, "")
                return {"nextPageToken": f"{mark}:{first[0]}:{first[1]}"}
            if len(entries) >= size:
                assert last is not None
                return {"entries": entries, "nextPageToken": f"{mark}:{last[0]}:{last[1]}"}
            entries.append(entry_of(line, self._account.project))
            last = line.place
        return {"entries": entries} if entries else {}

    def _lines(self, node: Node, backwards: bool, place: tuple[int, str] | None) -> Iterator[Line]:
        """What matches, in order, after ``place``."""
        low, high = bounds(node)
        if place and not backwards:
            low = max(low, place[0])
        if place and backwards:
            high = min(high, place[0])
        named = set().union(*map(jobs_named, google_filters.conjuncts(node)))
        runs = [
            self._of_stream(job, stream, node, (low, high), backwards)
            for job in self._read_jobs(named)
            for stream in list(job.streams)
            if stream.is_there(self._clock.now(), job.log_requests)
        ]
        for line in heapq.merge(*runs, key=lambda line: line.place, reverse=backwards):
            if place and (line.place >= place if backwards else line.place <= place):
                continue
            yield line

    def _read_jobs(self, named: set[str]) -> list[CustomJob]:
        """The jobs that are asked for, each counted as asked once more."""
        jobs = [job for job in self._jobs if not named or job.id in named]
        for job in jobs:
            self._jobs.by_id(job.id)
            job.log_requests += 1
        return jobs

    def _of_stream(
        self,
        job: CustomJob,
        stream: Stream,
        node: Node,
        within: tuple[int, int],
        backwards: bool,
    ) -> Iterator[Line]:
        """A stream's readable lines that match, between two times, both included."""
        compare = stream_comparison(self._account.project)

        def decide(one: Comparison) -> bool | None:
            return compare(one)((job, stream)) if is_of_stream(one) else None

        of_line = google_filters.settled(node, decide)
        if of_line == Some(()):
            return
        matches = google_filters.predicate(of_line, line_comparison())
        low, high = bounds(of_line)
        low, high = max(low, within[0]), min(high, within[1])
        now, count = self._clock.now(), stream.readable(self._clock.now())
        rest = _rest_of(job)
        # Milliseconds, rounded so that none is left out.
        first = stream.first_from((low - rest) // MILLISECOND, count)
        last = stream.first_from((high - rest) // MILLISECOND + 1, count)
        waits = job.scenario.late_lines.get(stream.host, {})
        misses = job.scenario.late_reads.get(stream.host, {})
        start = zlib.crc32(f"{job.id}/{stream.name}".encode())
        is_text = self.as_text or stream.host == "service"
        numbers = range(first, last)
        for index in reversed(numbers) if backwards else numbers:
            offset, text = stream.lines.at(index)
            milliseconds = stream.start + offset
            if index in waits:
                shown = milliseconds / 1000 if stream.timed else stream.appears
                if now < shown + stream.late + waits[index]:
                    continue
            if job.log_requests <= misses.get(index, 0):
                continue
            nanoseconds = milliseconds * MILLISECOND + rest
            if low <= nanoseconds <= high:
                name = f"{start:08x}{index:010x}"
                line = Line(job, stream, nanoseconds, name, text, is_text)
                if matches(line):
                    yield line

    def _check_resources(self, asked: dict[str, Any]) -> None:
        names = asked.get("resourceNames") or []
        if not names:
            raise refused("INVALID_ARGUMENT", "resource_names must not be empty")
        for name in names:
            project = str(name).removeprefix("projects/").partition("/")[0]
            if project not in (self._account.project, self._account.number):
                raise denied("logging.logEntries.list", f"//logging.googleapis.com/{name}")

    def _count_read(self) -> None:
        if self.reads_per_minute is None:
            return
        now = self._clock.now()
        with self._lock:
            while self._reads and self._reads[0] <= now - 60:
                self._reads.popleft()
            if len(self._reads) >= self.reads_per_minute:
                raise TOO_MANY_READS
            self._reads.append(now)

    def _comes_empty(self) -> bool:
        self._pages += 1
        return bool(self.empty_pages_every) and self._pages % self.empty_pages_every == 0


def _place(token: str, mark: str) -> tuple[int, str] | None:
    if not token:
        return None
    said, _, rest = token.partition(":")
    time, _, insert_id = rest.partition(":")
    if said != mark or not time.isdigit():
        text = "page_token doesn't match arguments from the request"
        raise refused("INVALID_ARGUMENT", text)
    # An empty page that came first leads to the beginning.
    return (int(time), insert_id) if insert_id else None


def _rest_of(job: CustomJob) -> int:
    """Nanoseconds below the millisecond: of a job's lines always the same, and never none."""
    return zlib.crc32(job.id.encode()) % (MILLISECOND - 1) + 1

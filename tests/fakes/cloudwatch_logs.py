"""The fake CloudWatch Logs: the log group of training jobs, page by page.

Source of pages, tokens and limits: AWS, "Amazon CloudWatch Logs API Reference" (DescribeLogStreams,
GetLogEvents, FilterLogEvents); of empty pages in the middle: github.com/boto/boto3 issue 3718.
"""

from __future__ import annotations

import heapq
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.fakes.aws_account import Account
from tests.fakes.clock import Clock
from tests.fakes.log_filters import matcher
from tests.fakes.log_streams import Stream
from tests.fakes.training_jobs import TrainingJobs
from tests.fakes.wire import Request, ServiceError

GROUP = "/aws/sagemaker/TrainingJobs"
# Counted for each event besides its text; AWS, "CloudWatch Logs quotas", of PutLogEvents.
_EVENT_OVERHEAD = 26
_TOKEN = re.compile(r"([fb])/(\d{55})(\d)/s")
_FILTER_TOKEN = re.compile(r"(\d{20})-(\d{12})-(.*)", re.DOTALL)
# The pages' ends of time where a request names none.
_NO_END = 1 << 62


class LogService:
    """Reads the streams of :class:`TrainingJobs`.

    Attributes:
        group_exists: Whether the group is there before the account's first stream.
        page_bytes: The most that a page holds; the service's own figure.
        page_events: The same, in events.
        empty_pages_every: Every so-many pages that have something to say come empty first, with
            a token that leads on; 0 for never.
    """

    def __init__(self, account: Account, clock: Clock, jobs: TrainingJobs):
        self._account, self._clock, self._jobs = account, clock, jobs
        self._pages = 0
        self.group_exists = False
        self.page_bytes = 1 << 20
        self.page_events = 10_000
        self.empty_pages_every = 0
        self.operations: dict[str, Callable[[Request, Mapping[str, Any]], dict[str, Any]]] = {
            "DescribeLogGroups": self._groups,
            "DescribeLogStreams": self._describe,
            "GetLogEvents": self._get,
            "FilterLogEvents": self._filter,
        }

    def _groups(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._streams(request, {"logGroupName": GROUP}, "")
        except ServiceError:
            return {"logGroups": []}
        if not GROUP.startswith(asked.get("logGroupNamePrefix", "")):
            return {"logGroups": []}
        arn = f"arn:aws:logs:{request.region}:{self._account.id}:log-group:{GROUP}:*"
        return {"logGroups": [{"logGroupName": GROUP, "arn": arn, "storedBytes": 0}]}

    def _describe(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        prefix, by_time = asked.get("logStreamNamePrefix", ""), asked.get("orderBy")
        by_time = by_time == "LastEventTime"
        if prefix and by_time:
            raise _invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
        size = int(asked.get("limit", 50))
        if not 1 <= size <= 50:
            raise _invalid("limit: expected 1 to 50")
        streams = self._streams(request, asked, prefix)
        now = self._clock.now()
        told = [_told(stream, now, request.region, self._account.id) for stream in streams]
        told.sort(
            key=lambda one: (
                (one.get("lastEventTimestamp", 0), one["logStreamName"])
                if by_time
                else (0, one["logStreamName"])
            ),
            reverse=bool(asked.get("descending")),
        )
        # A token names the last stream of its page, so that streams may appear in between.
        names = [one["logStreamName"] for one in told]
        token = asked.get("nextToken")
        first = names.index(token) + 1 if token in names else 0
        page = told[first : first + size]
        more = {"nextToken": names[first + size - 1]} if first + size < len(told) else {}
        return {"logStreams": page, **more}

    def _get(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        name = asked.get("logStreamName")
        found = [
            one
            for one in self._streams(request, asked, str(name).partition("/")[0])
            if one.name == name
        ]
        if not found:
            raise _not_found("stream")
        stream, count = found[0], found[0].readable(self._clock.now())
        low = stream.first_from(int(asked.get("startTime", 0)), count)
        # Events at endTime itself are left out here, and given by FilterLogEvents.
        high = stream.first_from(int(asked.get("endTime", _NO_END)), count)
        token, size = asked.get("nextToken"), self._size(asked)
        if token is None:
            forward, position, seen_empty = bool(asked.get("startFromHead")), None, False
        else:
            match = _TOKEN.fullmatch(token)
            if match is None:
                raise _invalid("The specified nextToken is invalid.")
            forward, position = match[1] == "f", int(match[2])
            seen_empty = match[3] == "1"
        if forward:
            first = max(low, position or 0)
            if first < high and not seen_empty and self._comes_empty():
                return _page([], _token("f", first, 1), _token("b", first))
            last = self._end_of_page(stream, first, high, size)
        else:
            last = high if position is None else min(position, high)
            first = self._start_of_page(stream, max(low, 0), last, size)
        first, last = min(first, last), max(first, last)
        events = [_event(stream, index) for index in range(first, last)]
        # At the end the same token comes back that was given, whatever its direction.
        at_end = forward and not events and position is not None and token is not None
        return _page(events, str(token) if at_end else _token("f", last), _token("b", first))

    def _filter(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        names, prefix = asked.get("logStreamNames"), asked.get("logStreamNamePrefix", "")
        if names and prefix:
            raise _invalid("logStreamNames and logStreamNamePrefix cannot both be given.")
        streams = self._streams(request, asked, prefix or _common_job(names))
        if names:
            known = {stream.name for stream in streams}
            if not set(names) <= known:
                raise _not_found("stream")
            streams = [stream for stream in streams if stream.name in names]
        token = asked.get("nextToken")
        match = _FILTER_TOKEN.fullmatch(token) if token else None
        if token and match is None:
            raise _invalid("The specified nextToken is invalid.")
        after = (int(match[1]), match[3], int(match[2])) if match else (0, "", 0)
        merged = heapq.merge(
            *(self._of_stream(stream, asked, after) for stream in streams),
        )
        wanted = matcher(asked.get("filterPattern", ""))
        return self._filter_page(merged, wanted, self._size(asked))

    def _filter_page(
        self,
        merged: Iterator[tuple[int, str, int, str]],
        wanted: Callable[[str], bool],
        size: int,
    ) -> dict[str, Any]:
        events: list[dict[str, Any]] = []
        room, looked_at = self.page_bytes, 0
        ingested = int(self._clock.now() * 1000)
        for time, name, index, text in merged:
            # A page is also full when much was searched in vain.
            if len(events) >= size or room <= 0 or looked_at >= 10 * self.page_events:
                token = f"{time:020d}-{index:012d}-{name}"
                return {"events": events, "searchedLogStreams": [], "nextToken": token}
            looked_at += 1
            if not wanted(text):
                continue
            room -= len(text.encode()) + _EVENT_OVERHEAD
            events.append(
                {
                    "logStreamName": name,
                    "timestamp": time,
                    "message": text,
                    "ingestionTime": ingested,
                    "eventId": f"{time:020d}{zlib.crc32(name.encode()):010d}{index:026d}",
                }
            )
        return {"events": events, "searchedLogStreams": []}

    def _of_stream(
        self, stream: Stream, asked: Mapping[str, Any], after: tuple[int, str, int]
    ) -> Iterator[tuple[int, str, int, str]]:
        """(time, stream, number, text) from the token's place on.

        As with the service, an event that appears later with an earlier time than the token's
        is not given: only a new search finds it.
        """
        count = stream.readable(self._clock.now())
        first = stream.first_from(max(int(asked.get("startTime", 0)), after[0]), count)
        end = int(asked.get("endTime", _NO_END))
        for index in range(first, count):
            offset, text = stream.lines.at(index)
            time = stream.start + offset
            if time > end:
                return
            if (time, stream.name, index) >= after and text:
                yield time, stream.name, index, text

    def _streams(self, request: Request, asked: Mapping[str, Any], prefix: str) -> list[Stream]:
        """The streams that are there, of the group that is asked for.

        Raises:
            ServiceError: There is no such group.
        """
        named = str(asked.get("logGroupName") or asked.get("logGroupIdentifier") or "")
        if named != GROUP and not named.partition(":log-group:")[2].startswith(GROUP):
            raise _not_found("group")
        now, exists, streams = self._clock.now(), self.group_exists, []
        for job in self._jobs.in_region(request.region):
            about = job.name.startswith(prefix) or prefix.startswith(f"{job.name}/")
            job.log_requests += about
            for stream in list(job.streams):
                if stream.is_there(now, job.log_requests):
                    exists = True
                    if stream.name.startswith(prefix):
                        streams.append(stream)
        if not exists:
            raise _not_found("group")
        return streams

    def _size(self, asked: Mapping[str, Any]) -> int:
        size = int(asked.get("limit", self.page_events))
        if not 1 <= size <= 10_000:
            raise _invalid("limit: expected 1 to 10000")
        return min(size, self.page_events)

    def _end_of_page(self, stream: Stream, first: int, high: int, size: int) -> int:
        room, index = self.page_bytes, first
        while index < min(high, first + size):
            room -= len(stream.lines.at(index)[1].encode()) + _EVENT_OVERHEAD
            if room < 0 and index > first:
                break
            index += 1
        return max(index, first)

    def _start_of_page(self, stream: Stream, low: int, last: int, size: int) -> int:
        room, index = self.page_bytes, last
        while index > max(low, last - size):
            room -= len(stream.lines.at(index - 1)[1].encode()) + _EVENT_OVERHEAD
            if room < 0 and index < last:
                break
            index -= 1
        return index

    def _comes_empty(self) -> bool:
        self._pages += 1
        return bool(self.empty_pages_every) and self._pages % self.empty_pages_every == 0


def _told(stream: Stream, now: float, region: str, account: str) -> dict[str, Any]:
    created = int(stream.appears * 1000)
    arn = f"arn:aws:logs:{region}:{account}:log-group:{GROUP}:log-stream:{stream.name}"
    told = {"logStreamName": stream.name, "creationTime": created, "arn": arn, "storedBytes": 0}
    if count := stream.readable(now):
        told |= {
            "firstEventTimestamp": stream.time_of(0),
            "lastEventTimestamp": stream.time_of(count - 1),
            "lastIngestionTime": int(now * 1000),
        }
    return told


def _event(stream: Stream, index: int) -> dict[str, Any]:
    offset, text = stream.lines.at(index)
    time = stream.start + offset
    return {"timestamp": time, "message": text, "ingestionTime": time}


def _page(events: list[dict[str, Any]], forward: str, backward: str) -> dict[str, Any]:
    # No event is without text: PutLogEvents takes none.
    events = [event for event in events if event["message"]]
    return {"events": events, "nextForwardToken": forward, "nextBackwardToken": backward}


def _token(direction: str, position: int, mark: int = 0) -> str:
    return f"{direction}/{position:055d}{mark}/s"


def _common_job(names: object) -> str:
    """The job whose streams all ``names`` are, or an empty string."""
    jobs = {str(name).partition("/")[0] for name in names} if isinstance(names, list) else set()
    return f"{jobs.pop()}/" if len(jobs) == 1 else ""


def _invalid(text: str) -> ServiceError:
    return ServiceError("InvalidParameterException", text)


def _not_found(what: str) -> ServiceError:
    return ServiceError("ResourceNotFoundException", f"The specified log {what} does not exist.")

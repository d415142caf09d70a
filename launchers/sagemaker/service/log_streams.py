"""The lines of a training job from CloudWatch Logs: every line once, in order a host, merged in
time over the hosts, in constant memory.

Each host has a stream, ``<job>/algo-N-<epoch ms>``, which is read page by page with its own token:
a token marks a place in the stream, so whatever happens between two pages, none is skipped and
none comes twice. (A search over all streams would be fewer calls, but goes by time, and loses the
line that arrives late.)
"""

from __future__ import annotations

import heapq
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from launchers.core.cloud.errors import RetryingCaller
from launchers.sagemaker.service.errors import AWS_ERRORS, code_of
from launchers.sagemaker.service.session import Session

GROUP = "/aws/sagemaker/TrainingJobs"
_MOST_EMPTY = 4  # pages, where the newest ones come empty
_STREAM = re.compile(r".+/(algo-\d+)-\d+")


@dataclass(frozen=True)
class RawLine:
    """A line as CloudWatch has it: seconds since the epoch, the stream's host, the text."""

    time: float
    host: str
    text: str


@dataclass
class _Stream:
    """One stream's place, and what of its last page is not given yet.

    Attributes:
        token: Where its next page begins; None before the first.
        caught_up: Whether this round has seen its end.
        read: How many lines were read.
        skip: How many of the next lines were read before.
    """

    name: str
    host: str
    token: str | None = None
    caught_up: bool = False
    read: int = 0
    skip: int = 0
    lines: deque[tuple[int, str]] = field(default_factory=deque)


class LogStreams:
    """Reads a job's streams in rounds; a round gives all that can be read by now.

    Args:
        job: The training job's name.
        since: Leave out older lines, in seconds since the epoch.
        tell: Takes a line for a person where reading has to wait.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        session: Session,
        job: str,
        since: float = 0.0,
        tell: Callable[[str], None] = lambda text: None,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self._session, self._job, self._since = session, job, since
        self._caller = RetryingCaller(session, tell, sleep)
        self._streams: dict[str, _Stream] = {}

    def round(self) -> Iterator[RawLine]:
        """What has come since the last round. Blocks; waits out throttling, lost connections and
        expired credentials.

        Raises:
            ClientError: The caller may not read the logs.
        """
        self._look_for_streams()
        for stream in self._streams.values():
            stream.caught_up = False
        heads: list[tuple[int, str]] = []
        for stream in self._streams.values():
            self._push(heads, stream)
        while heads:
            _, name = heapq.heappop(heads)
            stream = self._streams[name]
            moment, text = stream.lines.popleft()
            yield RawLine(moment / 1000, stream.host, text)
            self._push(heads, stream)

    def _push(self, heads: list[tuple[int, str]], stream: _Stream) -> None:
        """The stream's next line takes part in the merge, if it has one."""
        while not stream.lines and not stream.caught_up:
            self._read_page(stream)
        if stream.lines:
            heapq.heappush(heads, (stream.lines[0][0], stream.name))

    def _read_page(self, stream: _Stream) -> None:
        asked: dict[str, Any] = {
            "logGroupName": GROUP,
            "logStreamName": stream.name,
            "startFromHead": True,
        }
        if stream.token:
            asked["nextToken"] = stream.token
        if self._since:
            asked["startTime"] = int(self._since * 1000)
        try:
            page = self._call("get_log_events", **asked)
        except AWS_ERRORS as error:
            if not stream.token or code_of(error) != "InvalidParameterException":
                raise
            # A token lasts 24 hours (CloudWatch Logs API, GetLogEvents), a laptop sleeps longer:
            # from the start again, less what was given.
            stream.token, stream.skip = None, stream.read
            return
        # Pages may be empty in between; the end is where the token stays the same.
        stream.caught_up = page["nextForwardToken"] == stream.token
        stream.token = page["nextForwardToken"]
        events = page["events"][stream.skip :]
        stream.skip = max(0, stream.skip - len(page["events"]))
        stream.read += len(events)
        stream.lines.extend((event["timestamp"], event["message"]) for event in events)

    def _look_for_streams(self) -> None:
        """Streams appear when their host writes its first line, which may be late."""
        asked = {"logGroupName": GROUP, "logStreamNamePrefix": f"{self._job}/"}
        token: dict[str, str] = {}
        while True:
            try:
                page = self._call("describe_log_streams", **asked, **token)
            except AWS_ERRORS as error:
                if code_of(error) != "ResourceNotFoundException":
                    raise
                return  # the account's first job: the group comes with the first line
            for found in page["logStreams"]:
                name = found["logStreamName"]
                match = _STREAM.fullmatch(name)
                if match:
                    self._streams.setdefault(name, _Stream(name, match[1]))
            if not page.get("nextToken"):
                return
            token = {"nextToken": page["nextToken"]}

    def _call(self, method: str, **asked: Any) -> Any:
        """One attempt at a time: how long to go on is the caller's knowledge."""
        return self._caller.call(
            lambda: getattr(self._session.client("logs", attempts=1), method)(**asked)
        )


def newest_of_first_host(session: Session, job: str) -> list[RawLine]:
    """The last page of a job's first host (at most a megabyte and 10,000 lines; AWS, GetLogEvents),
    the oldest line first; nothing where it has printed nothing yet. A few requests, each once.

    Raises:
        ClientError, BotoCoreError: There was no good answer.
    """
    client = session.client("logs", attempts=1)
    try:
        found = client.describe_log_streams(
            logGroupName=GROUP, logStreamNamePrefix=f"{job}/algo-1-"
        )
        names = sorted(one["logStreamName"] for one in found["logStreams"])
        if not names:
            return []
        asked: dict[str, Any] = {"logGroupName": GROUP, "logStreamName": names[-1]}
        for _ in range(_MOST_EMPTY):
            page = client.get_log_events(**asked, startFromHead=False)
            if page["events"] or page["nextBackwardToken"] == asked.get("nextToken"):
                break
            asked["nextToken"] = page["nextBackwardToken"]
    except AWS_ERRORS as error:
        if code_of(error) != "ResourceNotFoundException":
            raise
        return []  # the account's first job: the group comes with the first line
    return [RawLine(one["timestamp"] / 1000, "algo-1", one["message"]) for one in page["events"]]

"""A custom job as Vertex AI and Cloud Logging know it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launchers.core.cloud import following
from launchers.core.cloud.following import CloudJob, Sight
from launchers.core.cloud.poll import poll_seconds
from launchers.core.model.document import at
from launchers.core.model.jobs import PENDING, SUCCEEDED, JobHandle, JobStatus, Listener, LogLine
from launchers.core.model.problems import Problem
from launchers.core.output.lines import parse_tagged
from launchers.core.proof import expected_of
from launchers.vertex.service.custom_jobs import described, located, no_such_job, session_of
from launchers.vertex.service.log_pages import LogPages, RawLine
from launchers.vertex.service.session import Session
from launchers.vertex.service.states import has_ended, in_words, reason_of, seconds_of, state_of

# Lines reach Cloud Logging some seconds after they are written, and not those of all replicas at
# once. While a job runs they are read up to so many looks ago: 5 seconds by default.
_READ_LOOKS = 5 / 3


def follow(
    handle: JobHandle, listener: Listener, since: float = 0.0, to_the_end: bool = True
) -> Iterator[LogLine]:
    """See :func:`launchers.core.cloud.following.follow`."""
    job = _CustomJob(session_of(handle), handle, listener, since)
    return following.follow(job, listener, to_the_end)


def status(handle: JobHandle) -> JobStatus:
    """See :func:`launchers.core.cloud.following.status`."""
    return following.status(_CustomJob(session_of(handle), handle))


class _CustomJob(CloudJob):
    """One custom job, and the place in its logs up to which they were read."""

    service = "Vertex AI"
    success = "succeeded"

    def __init__(
        self,
        session: Session,
        handle: JobHandle,
        listener: Listener = Listener(),  # noqa: B008 - it has no state
        since: float = 0.0,
    ):
        super().__init__(session, handle)
        self._session, self._listener, self._since = session, listener, since
        self._resource: str | None = None
        self._pages: LogPages | None = None

    def look(self) -> Sight | None:
        """customJobs.get, after a customJobs.list where the job's number is not known."""
        if self._resource is None:
            self._resource = located(self._session, self.handle, self._listener.say)
        found = described(self._session, self._resource) if self._resource else None
        if found is None:
            return None
        ended = str(found.get("endTime", ""))
        return Sight(
            state=state_of(found),
            doing=in_words(found),
            ended=has_ended(found),
            ended_at=seconds_of(ended) if ended else None,
            reason=reason_of(found),
            expected=expected_of(_environment(found)),
            details=_details(self._session, str(self._resource), found),
        )

    def lines(self, sight: Sight) -> Iterator[LogLine]:
        """What has come to the job's log."""
        if sight.state == PENDING:
            return
        until = None if sight.ended else time.time() - _READ_LOOKS * poll_seconds()
        for raw in self._log().round(until):
            yield _parsed(raw)

    def lines_with(
        self, sight: Sight, words: Sequence[str], since: float = 0.0
    ) -> Iterator[LogLine]:
        """The same query for these words alone."""
        for raw in self._log().holding(words, since):
            yield _parsed(raw)

    def no_such_job(self) -> Problem:
        """See :class:`CloudJob`."""
        return no_such_job(self._session, self.handle.name)

    def where_else(self) -> str:
        """See :class:`CloudJob`."""
        return "it was deleted, or runs in another project or location"

    def _log(self) -> LogPages:
        if self._pages is None:
            resource, say = str(self._resource), self._listener.say
            self._pages = LogPages(self._session, resource, self._since, say)
        return self._pages


def _parsed(raw: RawLine) -> LogLine:
    """A line behind the agent's tag; one without has its replica's name for a host."""
    return parse_tagged(raw.text, raw.time, raw.replica)


def _environment(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the job's containers are told."""
    pools = at(found, "jobSpec", "workerPoolSpecs") or [{}]
    variables = at(pools[0], "containerSpec", "env") or []
    return {str(one.get("name")): one.get("value") for one in variables}


def _details(session: Session, resource: str, found: Mapping[str, Any]) -> dict[str, Any]:
    number = resource.rpartition("/")[2]
    details: dict[str, Any] = {
        "project": session.project,
        "location": session.location,
        "region": session.location,
        "resource": resource,
        "console": "https://console.cloud.google.com/vertex-ai/locations/"
        f"{session.location}/training/{number}?project={session.project}",
    }
    output = at(found, "jobSpec", "baseOutputDirectory", "outputUriPrefix")
    if output and state_of(found) == SUCCEEDED:
        details["model"] = f"{str(output).rstrip('/')}/model"
    for key, name in (("createTime", "created"), ("endTime", "ended")):
        if found.get(key):
            details[name] = seconds_of(str(found[key]))
    return details

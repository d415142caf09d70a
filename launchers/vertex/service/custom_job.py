"""One custom job: created once, polled, read, stopped.

Vertex AI takes any number of jobs of one display name. So the launcher lists by the digest and the
run number, which are labels, before a create and after every answer that leaves doubt; and of one
user's launchers only one at a time is at it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from google.protobuf.json_format import ParseError

from launchers.core.cloud.job import CloudJob, Observation, Request
from launchers.core.cloud.poll import poll_seconds
from launchers.core.cloud.sending import name_conflict
from launchers.core.model.document import at
from launchers.core.model.jobs import PENDING, SUCCEEDED, JobHandle, Listener, LogLine
from launchers.core.model.problems import NameTakenError, Problem
from launchers.core.output.lines import parse_tagged
from launchers.core.proof import expected_of
from launchers.core.roles import SILENT
from launchers.vertex.service.custom_jobs import (
    described,
    is_ours,
    jobs_where,
    labels_filter,
    located,
    no_such_job,
    oldest,
    parsed,
)
from launchers.vertex.service.log_pages import LogPages, RawLine
from launchers.vertex.service.session import GOOGLE_ERRORS, TIMEOUT_SECONDS, Session, is_quota
from launchers.vertex.service.states import has_ended, in_words, reason_of, seconds_of, state_of

# A list may not know a job that was created just now: after a doubtful answer it is asked for
# this many times before anything is sent again.
_LISTINGS = 4
# Lines reach Cloud Logging some seconds after they are written, and not those of all replicas at
# once. While a job runs they are read up to so many polls ago: 5 seconds by default.
_READ_POLLS = 5 / 3


class CustomJob(CloudJob):
    """One custom job, and the place in its logs up to which they were read."""

    service = "Vertex AI"
    success = "succeeded"
    asks_first = True

    def __init__(
        self, session: Session, handle: JobHandle, listener: Listener = SILENT, since: float = 0.0
    ):
        super().__init__(session, handle)
        self._session, self._listener, self._since = session, listener, since
        self._resource: str | None = None
        self._pages: LogPages | None = None

    @property
    def is_known(self) -> bool:
        """Whether its resource name is known."""
        return bool(self.handle.details.get("resource"))

    def find(self, request: Request, in_doubt: bool) -> Mapping[str, str] | None:
        """See :class:`CloudJob`. In doubt it is asked for a while: a list may lag."""
        document = parsed(request.definition.text)
        for listing in range(_LISTINGS if in_doubt else 1):
            if listing:
                time.sleep(poll_seconds())
            jobs = self._of_that_name()
            ours = [job for job in jobs if is_ours(job, document, request.begun)]
            if in_doubt and ours:
                return {"resource": oldest(self._session, ours, self._listener.say)}
            if jobs:
                raise self._conflict(jobs[0])
        return None

    def create(self, request: Request) -> Mapping[str, str]:
        """customJobs.create, once; what is sent is the printed document, read back."""
        from google.cloud.aiplatform_v1 import CustomJob

        # No second attempt: whether one is right is decided by what the list says.
        created = self._session.jobs().create_custom_job(
            parent=self._session.parent,
            custom_job=CustomJob.from_json(request.definition.text),
            retry=None,
            timeout=TIMEOUT_SECONDS,
        )
        if not created.name:
            raise ParseError("the answer names no job")
        return {"resource": str(created.name)}

    def name_conflict(self) -> NameTakenError:
        """See :class:`CloudJob`; only the list says that there is one."""
        return self._conflict(next(iter(self._of_that_name()), {}))

    def advice(self, error: Exception) -> str:
        """What to do about a quota, or a right that is lacking."""
        if is_quota(error):
            return (
                "ask for more in the console under IAM & Admin > Quotas, wait for other jobs to "
                "end, or use another --machine or --location"
            )
        if self.cloud.is_denied(error):
            return "the caller needs aiplatform.customJobs.create (roles/aiplatform.user)"
        return ""

    def exists(self) -> bool:
        """customJobs.list."""
        return bool(self._of_that_name())

    def poll(self) -> Observation | None:
        """customJobs.get, after a customJobs.list where the job's number is not known."""
        resource = self._located()
        found = described(self._session, resource) if resource else None
        if found is None:
            return None
        ended = str(found.get("endTime", ""))
        return Observation(
            state=state_of(found),
            summary=in_words(found),
            ended=has_ended(found),
            ended_at=seconds_of(ended) if ended else None,
            reason=reason_of(found),
            expected=expected_of(_environment(found)),
            details=_details(self._session, str(resource), found),
        )

    def stop(self) -> bool:
        """customJobs.cancel."""
        resource = self._located()
        if resource is None:
            return False
        self._session.jobs().cancel_custom_job(name=resource, retry=None, timeout=TIMEOUT_SECONDS)
        return True

    def lines(self, observation: Observation) -> Iterator[LogLine]:
        """See :class:`CloudJob`: what has come to the job's log."""
        if observation.state == PENDING:
            return
        until = None if observation.ended else time.time() - _READ_POLLS * poll_seconds()
        for raw in self._log().round(until):
            yield _parsed(raw)

    def lines_with(
        self, observation: Observation, words: Sequence[str], since: float = 0.0
    ) -> Iterator[LogLine]:
        """See :class:`CloudJob`: the same query for these words alone."""
        for raw in self._log().holding(words, since):
            yield _parsed(raw)

    def newest(self) -> Sequence[LogLine]:
        """See :class:`CloudJob`: one query for the first replica."""
        if self._located() is None:
            return []
        return [_parsed(raw) for raw in self._log().newest_of_first_replica()]

    def no_such_job(self) -> Problem:
        """See :class:`CloudJob`."""
        return no_such_job(self._session, self.handle.name)

    def where_else(self) -> str:
        """See :class:`CloudJob`."""
        return "it was deleted, or runs in another project or location"

    def _of_that_name(self) -> list[dict[str, Any]]:
        return jobs_where(self._session, self.handle.name, labels_filter(self.handle.name))

    def _located(self) -> str | None:
        if self._resource is None:
            self._resource = located(self._session, self.handle, self._listener.say)
        return self._resource

    def _log(self) -> LogPages:
        if self._pages is None:
            resource, say = str(self._resource), self._listener.say
            self._pages = LogPages(self._session, resource, self._since, say)
        return self._pages

    def _conflict(self, found: Mapping[str, Any]) -> NameTakenError:
        session, name = self._session, self.handle.name
        number = str(found.get("name", "")).rpartition("/")[2]
        when = str(found.get("createTime", ""))[:19].replace("T", " ") + " UTC"
        account = at(found, "jobSpec", "serviceAccount")
        role = f", runs as {account}" if account else ""
        origin = f"created {when} by {_creator(session, name)}{role}"
        return name_conflict(self.service, name, origin, f"vertex:{number}", session.location)


def _creator(session: Session, name: str) -> str:
    """Who created the job. The resource does not say; the audit log may, where the caller may
    read it."""
    log = f"projects/{session.project}/logs/cloudaudit.googleapis.com%2Factivity"
    wanted = (
        f'logName="{log}" AND protoPayload.methodName:"CreateCustomJob" AND '
        f'protoPayload.request.customJob.displayName="{name}"'
    )
    body = {"resourceNames": [f"projects/{session.project}"], "filter": wanted, "pageSize": 1}
    try:
        found = session.post("logging", "v2/entries:list", body).get("entries", [])
    except GOOGLE_ERRORS:
        found = []
    for entry in found:
        who = at(entry, "protoPayload", "authenticationInfo", "principalEmail")
        if who:
            return str(who)
    return "someone Vertex AI does not name (the project's audit log would)"


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
    for key, name in (("createTime", "created"), ("startTime", "started"), ("endTime", "ended")):
        if found.get(key):
            details[name] = seconds_of(str(found[key]))
    return details

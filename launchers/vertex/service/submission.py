"""One CustomJob: the printed document is read by the official client and sent once.

Vertex AI takes any number of jobs of one display name. So the launcher lists by the digest and the
run number, which are labels, before a create and after every answer that leaves doubt; and of one
user's launchers only one at a time is at it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.json_format import ParseError

from launchers.core.cloud.errors import asked
from launchers.core.cloud.poll import poll_seconds
from launchers.core.cloud.sending import (
    PATIENCE,
    Patience,
    Sending,
    intended,
    name_taken,
    send_once,
)
from launchers.core.model.document import at
from launchers.core.model.jobs import JobDefinition, JobHandle, Listener
from launchers.core.model.problems import LaunchError, NameTakenError
from launchers.core.source.bundle import SourceBundle
from launchers.vertex.document import bundle_place
from launchers.vertex.planning.account import Account
from launchers.vertex.service.custom_jobs import (
    described,
    is_ours,
    jobs_where,
    labels_filter,
    located,
    no_such_job,
    oldest,
    parsed,
    session_of,
)
from launchers.vertex.service.session import (
    GOOGLE_ERRORS,
    TIMEOUT_SECONDS,
    Session,
    is_quota,
    session_for,
)
from launchers.vertex.service.states import has_ended
from launchers.vertex.service.upload import upload

# A list may not know a job that was created just now: after a doubtful answer it is asked for
# this many looks before anything is sent again.
_LISTED_LOOKS = 4


def submit(definition: JobDefinition, bundle: SourceBundle, listener: Listener) -> JobHandle:
    """Upload the bundle, then one customJobs.create; the ledger holds the intent.

    Safe to repeat, and in several processes at once. May block.

    Raises:
        LaunchError: Cloud Storage or Vertex AI refused.
        NameTakenError: Somebody else's job has the name.
        InDoubtError: It is not known whether the job was taken.
    """
    project, location = definition.destination["project"], definition.destination["location"]
    session = session_for(project, location)

    def progress(done: int, total: int) -> None:
        listener.progress("uploading the source", done, total)

    with intended("vertex", definition.name, listener.say) as intent:
        resource = intent.details.get("resource")
        if not resource:
            with intent.on_the_way():
                upload(session, bundle, bundle_place(definition.document), progress)
            resource = submit_once(
                session,
                definition,
                intended=intent.begun,
                may_be_sent=intent.may_be_sent,
                before_send=intent.note_sent,
                tell=listener.say,
            )
            intent.note(resource=resource)
    where = {"project": project, "location": location, "region": location}
    return JobHandle("vertex", definition.name, {**where, "resource": resource})


def submit_once(
    session: Session,
    definition: JobDefinition,
    intended: float,
    may_be_sent: bool,
    before_send: Callable[[], None] = lambda: None,
    tell: Callable[[str], None] = lambda text: None,
    patience: Patience = PATIENCE,
) -> str:
    """See that the job exists, once; gives its resource name. May block; safe to repeat.

    Args:
        intended: When the intent was written, in seconds since the epoch; a job that is older is
            somebody else's.
        may_be_sent: Whether an earlier attempt may have been sent.
        before_send: Called once before the first send: keeps in the ledger that there was one.

    Raises:
        LaunchError: The service refused the request, or another job has its name.
        InDoubtError: It is not known whether the job was taken.
    """
    sending = _CustomJob(session, definition, intended, tell)
    return send_once(sending, may_be_sent, before_send, tell, patience)


def is_taken(known: Account, name: str) -> bool:
    """Whether the project has a job of that name there. May block; safe to repeat."""
    session = session_for(known.project, known.location)
    try:
        return bool(asked(session, lambda: jobs_where(session, name, labels_filter(name))))
    except GOOGLE_ERRORS as error:
        raise session.refused(error, f"Vertex AI, {name}") from None


def cancel(handle: JobHandle) -> None:
    """customJobs.cancel. Returns quietly for a job that has already ended.

    Raises:
        LaunchError: There is no such job, or the service refused.
    """
    session = session_of(handle)
    try:
        resource = asked(session, lambda: located(session, handle))
        if resource is None:
            raise LaunchError(no_such_job(session, handle.name))
        asked(
            session,
            lambda: session.jobs().cancel_custom_job(
                name=resource, retry=None, timeout=TIMEOUT_SECONDS
            ),
        )
    except GOOGLE_ERRORS as error:
        try:
            found = described(session, resource) if resource else None
        except GOOGLE_ERRORS:
            found = None
        stopping = found is not None and found.get("state") == "JOB_STATE_CANCELLING"
        if found is None or not (stopping or has_ended(found)):
            raise session.refused(error, f"Vertex AI, {handle.name}") from None


class _CustomJob(Sending[str]):
    """A custom job that is to exist once; its resource name stands for it."""

    service = "Vertex AI"
    looks_first = True

    def __init__(
        self,
        session: Session,
        definition: JobDefinition,
        intended: float,
        tell: Callable[[str], None],
    ):
        super().__init__(session, definition.name)
        self._session, self._definition = session, definition
        self._intended, self._tell = intended, tell
        self._document = parsed(definition.text)

    def find(self, in_doubt: bool) -> str | None:
        """See :class:`Sending`. In doubt it is asked for a while: a list may lag."""
        for look in range(_LISTED_LOOKS if in_doubt else 1):
            if look:
                time.sleep(poll_seconds())
            jobs = jobs_where(self._session, self.name, labels_filter(self.name))
            ours = [job for job in jobs if is_ours(job, self._document, self._intended)]
            if in_doubt and ours:
                return oldest(self._session, ours, self._tell)
            if jobs:
                raise _taken(self._session, jobs[0])
        return None

    def create(self) -> str:
        """customJobs.create, once; what is sent is the printed document, read back."""
        from google.cloud.aiplatform_v1 import CustomJob

        # No second attempt: whether one is right is decided by what the list says.
        created = self._session.jobs().create_custom_job(
            parent=self._session.parent,
            custom_job=CustomJob.from_json(self._definition.text),
            retry=None,
            timeout=TIMEOUT_SECONDS,
        )
        if not created.name:
            raise ParseError("the answer names no job")
        return str(created.name)

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


def _taken(session: Session, found: Mapping[str, Any]) -> NameTakenError:
    """Somebody else's job has the name: when it was made, by whom, and the ways on."""
    number = str(found["name"]).rpartition("/")[2]
    name, created = str(found["displayName"]), str(found.get("createTime", ""))
    account = at(found, "jobSpec", "serviceAccount")
    role = f", runs as {account}" if account else ""
    when = created[:19].replace("T", " ") + " UTC"
    told = f"created {when} by {_creator(session, name)}{role}"
    return name_taken("Vertex AI", name, told, f"vertex:{number}", session.location)


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
    return "someone whom Vertex AI does not name (the project's audit log would)"

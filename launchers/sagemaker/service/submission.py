"""One CreateTrainingJob, whose body is the printed document, byte for byte.

A training job's name is unique in its account and region, so the service itself never makes two
of one name. What is left to us is to know whether the job that has the name is ours.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from launchers.core.cloud.sending import (
    CLOCK_SECONDS,
    PATIENCE,
    Patience,
    Sending,
    holds,
    name_taken,
    send_once,
)
from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import NameTakenError
from launchers.sagemaker.service.session import ATTEMPTS, AWS_ERRORS, Session, code_of, is_missing

# What DescribeTrainingJob gives back of the request, and what makes two requests the same job.
# Not the role: it is no part of a job's identity, and a second attempt may give another one.
_COMPARED = ("HyperParameters", "Environment", "ResourceConfig", "StoppingCondition")
_TAKEN = "ResourceInUse"


def submit_once(
    session: Session,
    definition: JobDefinition,
    intended: float,
    may_be_sent: bool,
    before_send: Callable[[], None] = lambda: None,
    tell: Callable[[str], None] = lambda text: None,
    patience: Patience = PATIENCE,
) -> None:
    """See that the job exists, once. May block; safe to repeat.

    Args:
        intended: When the intent was written, in seconds since the epoch; a job that is older is
            somebody else's.
        may_be_sent: Whether an earlier attempt may have been sent.
        before_send: Called once before the first send: keeps in the ledger that there was one.

    Raises:
        LaunchError: The service refused the request, or another job has its name.
        InDoubtError: It is not known whether the job was taken.
    """
    sending = _TrainingJob(session, definition, intended)
    send_once(sending, may_be_sent, before_send, tell, patience)


class _TrainingJob(Sending[str]):
    """A training job that is to exist once; its name stands for it."""

    service = "SageMaker"

    def __init__(self, session: Session, definition: JobDefinition, intended: float):
        super().__init__(session, definition.name)
        self._session, self._definition, self._intended = session, definition, intended

    def find(self, in_doubt: bool) -> str | None:
        """See :class:`Sending`."""
        found = describe_job(self._session, self.name)
        if found is None:
            return None
        if not _is_ours(found, self._definition.document, self._intended):
            raise _taken(self._session, self.name, found)
        return self.name

    def create(self) -> str:
        """CreateTrainingJob, once."""
        _create(self._session, self._definition)
        return self.name

    def is_taken(self, error: Exception) -> bool:
        """ResourceInUse."""
        return code_of(error) == _TAKEN

    def taken(self) -> NameTakenError:
        """See :class:`Sending`."""
        return _taken(self._session, self.name)

    def advice(self, error: Exception) -> str:
        """What to do about a quota."""
        if code_of(error) != "ResourceLimitExceeded":
            return ""
        return (
            "ask for more in Service Quotas, wait for other jobs to end, or use another --machine"
        )


def describe_job(session: Session, name: str, attempts: int = ATTEMPTS) -> dict[str, Any] | None:
    """DescribeTrainingJob; None where there is no such job.

    Args:
        attempts: How often the client sends it at the most.

    Raises:
        ClientError, BotoCoreError: There was no good answer.
    """
    try:
        client = session.client("sagemaker", attempts)
        found: dict[str, Any] = client.describe_training_job(TrainingJobName=name)
    except AWS_ERRORS as error:
        if is_missing(error):
            return None
        raise
    return found


def _create(session: Session, definition: JobDefinition) -> None:
    # One attempt: whether a second one is right is decided above, by what Describe says.
    client = session.client("sagemaker", attempts=1)
    client.meta.events.register(
        "before-call.sagemaker.CreateTrainingJob", _send_as_printed, unique_id="launch-body"
    )
    _sending.body = definition.text.encode()
    client.create_training_job(**definition.document)


# Several threads may send their jobs by one client.
_sending = threading.local()


def _send_as_printed(params: dict[str, Any], **_: Any) -> None:
    params["body"] = _sending.body


def _is_ours(found: Mapping[str, Any], document: Mapping[str, Any], intended: float) -> bool:
    created = found["CreationTime"].timestamp()
    return created >= intended - CLOCK_SECONDS and all(
        holds(found.get(key, {}), document.get(key, {})) for key in _COMPARED
    )


def _taken(session: Session, name: str, found: Mapping[str, Any] | None = None) -> NameTakenError:
    """Somebody else's job has the name: when it was made, under which role, and the ways on."""
    try:
        found = found or describe_job(session, name) or {}
    except AWS_ERRORS:
        found = {}
    created = found.get("CreationTime")
    when = f"created {created:%Y-%m-%d %H:%M:%S %Z}" if created else "created by another request"
    role = f", runs as {found['RoleArn']}" if found.get("RoleArn") else ""
    told = f"{when} by {_creator(session, name)}{role}"
    return name_taken("SageMaker", name, told, f"sagemaker:{name}", session.region)


def _creator(session: Session, name: str) -> str:
    """Who created the job. DescribeTrainingJob does not say; CloudTrail may, where the caller may
    ask it."""
    attribute = {"AttributeKey": "ResourceName", "AttributeValue": name}
    try:
        events = session.client("cloudtrail", attempts=1).lookup_events(
            LookupAttributes=[attribute], MaxResults=20
        )["Events"]
    except AWS_ERRORS:
        events = []
    for event in events:
        if event.get("EventName") == "CreateTrainingJob" and event.get("Username"):
            return str(event["Username"])
    return "someone whom SageMaker does not name (CloudTrail would: `aws cloudtrail lookup-events`)"

"""One CreateTrainingJob, whose body is the printed document, byte for byte.

A training job's name is unique in its account and region, so the service itself never makes two
of one name. What is left to us is to know whether the job that has the name is ours.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.problems import (
    EXIT_PROVIDER,
    InDoubtError,
    NameTakenError,
    Problem,
)
from launchers.core.provider import JobDefinition
from launchers.sagemaker.session import (
    AWS_ERRORS,
    Session,
    code_of,
    is_expired,
    is_missing,
    is_passing,
    is_throttled,
    message_of,
    refused,
)

# AWS refuses requests whose clock is further off than this (Signature Version 4).
_CLOCK_SECONDS = 5 * 60
# What DescribeTrainingJob gives back of the request, and what makes two requests the same job.
_COMPARED = ("HyperParameters", "Environment", "RoleArn", "ResourceConfig", "StoppingCondition")
_TAKEN = "ResourceInUse"


@dataclass(frozen=True)
class Patience:
    """How long a submission goes on against a service that gives no good answer, in seconds."""

    first: float = 0.5
    longest: float = 10.0
    total: float = 300.0


def submit_once(
    session: Session,
    definition: JobDefinition,
    intended: float,
    may_be_sent: bool,
    before_send: Callable[[], None] = lambda: None,
    tell: Callable[[str], None] = lambda text: None,
    patience: Patience = Patience(),
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
    wait, deadline = patience.first, time.monotonic() + patience.total
    in_doubt = may_be_sent
    while True:
        try:
            if in_doubt and _find_ours(session, definition, intended):
                return
            if not may_be_sent:
                before_send()
                may_be_sent = True
            _create(session, definition)
            return
        except AWS_ERRORS as error:
            if code_of(error) == _TAKEN and not in_doubt:
                raise _taken(session, definition.name) from None
            if code_of(error) != _TAKEN and not is_passing(error):
                if in_doubt and is_expired(error):
                    raise _doubt(definition.name, error) from None
                raise refused(error, f"SageMaker, {definition.name}", _advice(error)) from None
            # A throttled request was not done; of any other the answer is open.
            in_doubt = in_doubt or not is_throttled(error)
            if time.monotonic() + wait > deadline:
                raise _doubt(definition.name, error) from None
            if wait > 4 * patience.first:
                tell(f"SageMaker gives no good answer ({message_of(error)[:120]}): asking again")
        time.sleep(wait)
        wait = min(2 * wait, patience.longest)


def describe_job(session: Session, name: str) -> dict[str, Any] | None:
    """DescribeTrainingJob; None where there is no such job.

    Raises:
        ClientError, BotoCoreError: There was no good answer.
    """
    try:
        found: dict[str, Any] = session.client("sagemaker").describe_training_job(
            TrainingJobName=name
        )
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


def _find_ours(session: Session, definition: JobDefinition, intended: float) -> bool:
    """Whether the job exists and is the one that was meant.

    Raises:
        LaunchError: The job of that name is another one.
    """
    found = describe_job(session, definition.name)
    if found is None:
        return False
    if not _is_ours(found, definition.document, intended):
        raise _taken(session, definition.name, found)
    return True


def _is_ours(found: Mapping[str, Any], document: Mapping[str, Any], intended: float) -> bool:
    created = found["CreationTime"].timestamp()
    return created >= intended - _CLOCK_SECONDS and all(
        _contains(found.get(key, {}), document.get(key, {})) for key in _COMPARED
    )


def _contains(found: Any, wanted: Any) -> bool:
    """Whether the service's answer holds what was sent; it may add defaults of its own."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and _contains(found[key], value) for key, value in wanted.items()
        )
    return bool(found == wanted)


def _taken(session: Session, name: str, found: Mapping[str, Any] | None = None) -> NameTakenError:
    """Somebody else's job has the name: when it was made, under which role, and the ways on."""
    try:
        found = found or describe_job(session, name) or {}
    except AWS_ERRORS:
        found = {}
    created = found.get("CreationTime")
    when = f"created {created:%Y-%m-%d %H:%M:%S %Z}" if created else "created by another request"
    role = f", runs as {found['RoleArn']}" if found.get("RoleArn") else ""
    creator = _creator(session, name)
    return NameTakenError(
        Problem(
            f"SageMaker, {name}",
            f"the name is taken: {when} by {creator}{role}",
            "a name that is free",
            f"to follow that job: launch logs sagemaker:{name} --region {session.region} --follow; "
            "to run another: the same command with --again",
            rule="name-taken",
        ),
        EXIT_PROVIDER,
    )


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


def _doubt(name: str, error: Exception) -> InDoubtError:
    return InDoubtError(
        Problem(
            f"SageMaker, {name}",
            f"no good answer: {message_of(error)}",
            "to know whether the job was created",
            "run the same command again: it finds the job, or sends it, and never makes two",
            rule="in-doubt",
        ),
        EXIT_PROVIDER,
    )


def _advice(error: Exception) -> str:
    if code_of(error) == "ResourceLimitExceeded":
        return (
            "ask for more in Service Quotas, wait for other jobs to end, or use another --machine"
        )
    return ""

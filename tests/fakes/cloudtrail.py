"""The fake CloudTrail: who created a training job, some minutes after it was created.

Source: AWS, "CloudTrail API Reference", LookupEvents; "CloudTrail typically delivers events within
an average of about 5 minutes of an API call".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.clock import Clock
from tests.fakes.job_states import TrainingJob
from tests.fakes.training_jobs import TrainingJobs
from tests.fakes.wire import Request, ServiceError


class Trail:
    """Looks up the creation of jobs.

    Attributes:
        delay: Seconds after which an event can be found.
    """

    delay = 300.0

    def __init__(self, clock: Clock, jobs: TrainingJobs):
        self._clock, self._jobs = clock, jobs
        self.operations: dict[str, Callable[[Request, Mapping[str, Any]], dict[str, Any]]] = {
            "LookupEvents": self._lookup
        }

    def _lookup(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        size, first = int(asked.get("MaxResults", 50)), int(asked.get("NextToken", 0))
        if not 1 <= size <= 50:
            text = "The MaxResults parameter must be between 1 and 50."
            raise ServiceError("InvalidMaxResultsException", text)
        until = self._clock.now() - self.delay
        events = [
            _event(job) for job in self._jobs.in_region(request.region) if job.created <= until
        ]
        for attribute in asked.get("LookupAttributes", ()):
            wanted = (attribute["AttributeKey"], attribute["AttributeValue"])
            events = [event for event in events if wanted in _attributes(event)]
        # The newest is told first.
        events.reverse()
        more = {"NextToken": str(first + size)} if first + size < len(events) else {}
        return {"Events": events[first : first + size], **more}


def _event(job: TrainingJob) -> dict[str, Any]:
    identity = {"arn": job.creator, "accountId": job.arn.split(":")[4]}
    record = {"eventName": "CreateTrainingJob", "userIdentity": identity, "awsRegion": job.region}
    return {
        "EventId": str(uuid.uuid5(uuid.NAMESPACE_URL, job.arn)),
        "EventName": "CreateTrainingJob",
        "ReadOnly": "false",
        "EventTime": job.created,
        "EventSource": "sagemaker.amazonaws.com",
        # A user's name, or the session's name of a role that was taken on.
        "Username": job.creator.rpartition("/")[2],
        "Resources": [
            {"ResourceType": "AWS::SageMaker::TrainingJob", "ResourceName": job.name},
            {"ResourceType": "AWS::SageMaker::TrainingJob", "ResourceName": job.arn},
        ],
        "CloudTrailEvent": json.dumps(record),
    }


def _attributes(event: Mapping[str, Any]) -> set[tuple[str, str]]:
    """What an event can be looked up by."""
    plain = {(name, str(event[name])) for name in ("EventId", "EventName", "Username", "ReadOnly")}
    return plain | {("ResourceName", one["ResourceName"]) for one in event["Resources"]}

"""The fake Vertex AI: CustomJobs.

Names are not unique: each create that is done makes one more job.
"""

from __future__ import annotations

import fnmatch
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.fakes import google_filters, google_job_checks, google_quotas
from tests.fakes.clock import Clock
from tests.fakes.google_account import GoogleAccount
from tests.fakes.google_filters import Comparison, Predicate, number_matches, text_matches
from tests.fakes.google_job_states import CustomJob
from tests.fakes.google_scenarios import VertexScenario, VertexVerdict
from tests.fakes.google_wire import invalid, iso, nanoseconds_of, refused
from tests.fakes.job_runs import JobRuns
from tests.fakes.wire import Request

Operation = Callable[[Request], dict[str, Any]]
ACT_AS = "iam.serviceAccounts.actAs"
# As google.cloud.aiplatform_v1.types.JobState has them.
STATES = (
    "UNSPECIFIED",
    "QUEUED",
    "PENDING",
    "RUNNING",
    "SUCCEEDED",
    "FAILED",
    "CANCELLING",
    "CANCELLED",
    "PAUSED",
    "EXPIRED",
    "UPDATING",
    "PARTIALLY_SUCCEEDED",
)


class CustomJobs:
    """The jobs of the project, in every location.

    Attributes:
        scenario: How a job goes for which nothing else is said. May be a function of the
            accepted document.
        list_lag: Seconds for which a list does not show a job that was created.
        list_misses: Lists that a job is not in yet, after it was created.
        refuses_late_cancel: Whether a cancel of a job that has ended is refused; the service's
            documentation leaves it open.
        checks_quotas: Whether a job that exceeds the account's quotas is refused.
        checks_service_account: Whether a job needs a service account that exists, and a caller
            who may act as it.
    """

    def __init__(self, account: GoogleAccount, clock: Clock):
        self._account, self._clock = account, clock
        self._lock = threading.RLock()
        self._jobs: dict[str, CustomJob] = {}
        self._created = 0
        self._scenarios: dict[str, VertexScenario] = {}
        self._runs = JobRuns(clock, self._lock, VertexVerdict)
        self.scenario: VertexScenario | Callable[[Mapping[str, Any]], VertexScenario] = (
            VertexScenario()
        )
        self.list_lag = 0.0
        self.list_misses = 0
        self.refuses_late_cancel = True
        self.checks_quotas = True
        self.checks_service_account = True
        self.operations: dict[str, Operation] = {
            "customJobs.create": self._create,
            "customJobs.get": self._get,
            "customJobs.list": self._list,
            "customJobs.cancel": self._cancel,
            "customJobs.delete": self._delete,
        }

    # What tests use.

    def __iter__(self) -> Iterator[CustomJob]:
        """All jobs, in the order they were created."""
        with self._lock:
            return iter(list(self._jobs.values()))

    def __len__(self) -> int:
        return len(self._jobs)

    def get(self, name: str) -> CustomJob:
        """The one job of that display name, number or resource name.

        Raises:
            KeyError: There is none, or more than one.
        """
        with self._lock:
            found = [job for job in self if name in (job.name, job.id, job.resource)]
            if len(found) != 1:
                raise KeyError(f"{name}: {len(found)} jobs")
            found[0].settle(self._clock.now())
            return found[0]

    def by_id(self, number: str) -> CustomJob | None:
        """The job of that number, as it stands now."""
        with self._lock:
            job = self._jobs.get(number)
            if job is not None:
                job.settle(self._clock.now())
            return job

    def script(self, name: str, scenario: VertexScenario) -> None:
        """How jobs of that display name will go, once created."""
        self._scenarios[name] = scenario

    def step(self, name: str, times: int = 1) -> str:
        """Move a job on; gives its state then."""
        job = self.get(name)
        with self._lock:
            for _ in range(times):
                job.step(self._clock.now())
            return job.state

    def run_to(self, name: str, state: str) -> None:
        """Move a job on until it is in that state.

        Raises:
            ValueError: It ends without ever being in it.
        """
        job = self.get(name)
        with self._lock:
            while job.state != state:
                if job.ended:
                    raise ValueError(f"{name} ended as {job.state}, not at {state}")
                self.step(name)

    def close(self) -> None:
        """Stop what runs for real, and wait for it."""
        self._runs.close(list(self))

    # What clients use.

    def _create(self, request: Request) -> dict[str, Any]:
        document = google_job_checks.parse(request.body)
        google_job_checks.check(document, request.region)
        self._check_service_account(request, document)
        with self._lock:
            for job in self:
                job.settle(self._clock.now())
            if self.checks_quotas:
                google_quotas.check(self._account, document, self, request.region)
            self._created += 1
            scenario = self._scenarios.get(document["displayName"]) or self.scenario
            job = CustomJob(
                document,
                request.body,
                self._number(),
                self._created,
                self._account.number,
                request.region,
                request.identity.email,
                round(self._clock.now(), 6),
                scenario(document) if callable(scenario) else scenario,
            )
            self._jobs[job.id] = job
            told = job.told()
            self._runs.start(job)
        return self._shown(request, told)

    def _get(self, request: Request) -> dict[str, Any]:
        with self._lock:
            job = self._job(request)
            told = job.told()
            job.described(self._clock.now())
        return self._shown(request, told)

    def _list(self, request: Request) -> dict[str, Any]:
        query = request.query
        size = int(query.get("pageSize") or 0)
        if size < 0:
            raise invalid({"page_size": "Must not be negative."})
        size = min(size or 50, 100)
        node = google_filters.parse(query.get("filter", ""))
        wanted = google_filters.predicate(node, _compare)
        mark = hashlib.sha256(f"{request.region} {query.get('filter', '')}".encode()).hexdigest()[
            :8
        ]
        token = query.get("pageToken", "")
        before = _position(token, mark) if token else self._created + 1
        with self._lock:
            seen = [job for job in self if self._is_listed(job, request.region, first=not token)]
            found = [job for job in reversed(seen) if job.order < before and wanted(job)]
            page = [self._shown(request, job.told()) for job in found[:size]]
        answer: dict[str, Any] = {"customJobs": page} if page else {}
        if len(found) > size:
            answer["nextPageToken"] = f"{mark}-{found[size - 1].order}"
        return answer

    def _cancel(self, request: Request) -> dict[str, Any]:
        with self._lock:
            job = self._job(request)
            if job.ended:
                if self.refuses_late_cancel:
                    text = f"Cannot cancel a CustomJob which is in state JOB_STATE_{job.state}."
                    raise refused("FAILED_PRECONDITION", text)
                return {}
            job.cancel(self._clock.now())
        return {}

    def _delete(self, request: Request) -> dict[str, Any]:
        with self._lock:
            job = self._job(request)
            if not job.ended:
                text = f"Cannot delete a CustomJob which is in state JOB_STATE_{job.state}."
                raise refused("FAILED_PRECONDITION", text)
            del self._jobs[job.id]
        now = iso(self._clock.now())
        kind = "type.googleapis.com/google.cloud.aiplatform.v1.DeleteOperationMetadata"
        return {
            "name": f"{job.resource}/operations/{job.id[::-1]}",
            "metadata": {
                "@type": kind,
                "genericMetadata": {"createTime": now, "updateTime": now},
            },
            "done": True,
            "response": {"@type": "type.googleapis.com/google.protobuf.Empty"},
        }

    def _check_service_account(self, request: Request, document: Mapping[str, Any]) -> None:
        email = document.get("jobSpec", {}).get("serviceAccount")
        if not email or not self.checks_service_account:
            return
        known = email in self._account.service_accounts
        if not known or ACT_AS in request.identity.denied:
            text = f"You do not have permission to act as service account: {email}"
            raise refused("PERMISSION_DENIED", f"{text} (or it may not exist).")

    def _job(self, request: Request) -> CustomJob:
        job = self._jobs.get(request.places["job"])
        if job is None or job.location != request.region:
            named = f"projects/{self._account.number}/locations/{request.region}"
            text = f"The CustomJob {named}/customJobs/{request.places['job']} does not exist."
            raise refused("NOT_FOUND", text)
        job.settle(self._clock.now())
        return job

    def _is_listed(self, job: CustomJob, location: str, first: bool) -> bool:
        if job.location != location:
            return False
        job.settle(self._clock.now())
        job.lists += first
        return job.lists > self.list_misses and self._clock.now() >= job.created + self.list_lag

    def _shown(self, request: Request, told: dict[str, Any]) -> dict[str, Any]:
        numbers = "enum-encoding=int" in request.query.get("$alt", "")
        return google_job_checks.as_numbers(told) if numbers else told

    def _number(self) -> str:
        """19 digits from which nobody tells the order."""
        mark = hashlib.sha256(f"{self._account.number}/{self._created}".encode()).digest()
        return str(10**18 + int.from_bytes(mark[:8], "big") % (8 * 10**18))


def _position(token: str, mark: str) -> int:
    said, _, order = token.partition("-")
    if said != mark or not order.isdigit():
        raise refused("INVALID_ARGUMENT", "Page token is invalid, or of another request.")
    return int(order)


def _compare(asked: Comparison) -> Predicate[CustomJob]:
    name, operator, value = asked.field, asked.operator, asked.value
    if name == "display_name" and operator in ("=", "!="):
        matches = text_matches(operator, value, exact_case=True)
        return lambda job: matches(job.name)
    if name == "display_name" and operator == ":":
        return lambda job: fnmatch.fnmatchcase(job.name, value)
    if name == "state" and operator in ("=", "!="):
        known = value.removeprefix("JOB_STATE_") in STATES and value.startswith("JOB_STATE_")
        if not known:
            raise refused("INVALID_ARGUMENT", f"Invalid filter: unknown state {value!r}")
        return lambda job: (f"JOB_STATE_{job.state}" == value) == (operator == "=")
    if name == "create_time" and operator != ":":
        after = number_matches(operator, nanoseconds_of(value))
        return lambda job: after(nanoseconds_of(iso(job.created)))
    if name.startswith("labels.") and operator in ("=", "!=", ":"):
        key = name.removeprefix("labels.")
        if operator == ":" and value == "*":
            return lambda job: key in job.labels
        return lambda job: (job.labels.get(key) == value) == (operator != "!=")
    if name == "labels" and operator == ":":
        return lambda job: value in job.labels
    raise refused("INVALID_ARGUMENT", f"Invalid filter: {name} {operator} {value!r}")

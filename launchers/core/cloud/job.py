"""One job as its cloud's service knows it: what a cloud gives, and all that it has to give."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from launchers.core.cloud.errors import Cloud
from launchers.core.model.jobs import JobDefinition, JobHandle, LogLine
from launchers.core.model.problems import NameTakenError, Problem
from launchers.core.proof import Expected

# Services refuse requests whose clock is further off than this: AWS's signatures and Google's
# signed tokens allow five minutes.
CLOCK_SECONDS = 5 * 60


@dataclass(frozen=True)
class Observation:
    """A job as its service describes it, in the words of every provider.

    Attributes:
        state: One of the words of :mod:`launchers.core.model.jobs`; ``succeeded`` where the service
            says so, whatever the proof.
        summary: The same for a person, with what the service adds.
        ended: Whether the service is done with the job.
        ended_at: When, in seconds since the epoch; None where the service does not say.
        reason: Why it ended as it did; empty for a job that is well.
        expected: What the job's environment asks its output to prove.
        details: What else a status shows.
    """

    state: str
    summary: str
    ended: bool
    ended_at: float | None = None
    reason: str = ""
    expected: Expected = Expected(0)  # noqa: RUF009 - frozen
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A job that is to exist once.

    Attributes:
        begun: When the intent was written, in seconds since the epoch; a job that is older is
            somebody else's.
    """

    definition: JobDefinition
    begun: float


class CloudJob(ABC):
    """One job at its service. Every call may block, is one attempt unless it says otherwise, and
    raises one of the cloud's errors where there is no good answer.

    Attributes:
        service: The service's name for a person.
        success: What the service calls a job that succeeded.
        asks_first: Whether the service is asked for the job before the first send too, because
            it would take a second one of the same name.
    """

    service: ClassVar[str]
    success: ClassVar[str]
    asks_first: ClassVar[bool] = False

    def __init__(self, cloud: Cloud, handle: JobHandle):
        self.cloud, self.handle = cloud, handle

    @property
    def is_known(self) -> bool:
        """Whether the handle has what the service itself calls the job, so that it was created."""
        return False

    # Creating it.

    @abstractmethod
    def find(self, request: Request, in_doubt: bool) -> Mapping[str, str] | None:
        """The job that was requested, if it exists: what finds it again, beside its name.

        Args:
            in_doubt: Whether a request of ours may have created it.

        Raises:
            NameTakenError: The job of that name is another one.
        """

    @abstractmethod
    def create(self, request: Request) -> Mapping[str, str]:
        """Send the request; what finds the job again, beside its name."""

    def is_name_taken(self, error: Exception) -> bool:
        """Whether the service says that a job has the name."""
        return False

    @abstractmethod
    def name_conflict(self) -> NameTakenError:
        """Another job has the name: when it was created, by whom, and what to do."""

    def advice(self, error: Exception) -> str:
        """What to do about a refusal."""
        return ""

    # Once it may exist.

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is a job of that name."""

    @abstractmethod
    def poll(self) -> Observation | None:
        """The job now; None where there is no such job."""

    @abstractmethod
    def stop(self) -> bool:
        """Ask for the job's end; whether there is such a job."""

    @abstractmethod
    def lines(self, observation: Observation) -> Iterator[LogLine]:
        """What has come since the last call. Waits out throttling, lost connections and expired
        credentials."""

    @abstractmethod
    def lines_with(
        self, observation: Observation, words: Sequence[str], since: float = 0.0
    ) -> Iterator[LogLine]:
        """The lines that hold one of ``words``, without reading all others; in order of time.

        Args:
            since: Leave out what is older, in seconds since the epoch.
        """

    @abstractmethod
    def newest(self) -> Sequence[LogLine]:
        """The newest lines of the first host, the oldest first: one page of its log, or a few
        where pages come empty. Asks nothing else."""

    @abstractmethod
    def no_such_job(self) -> Problem:
        """There is none of that name where it was looked for."""

    def where_else(self) -> str:
        """Where a job may be that the service does not know."""
        return "it was deleted, or runs in another account or region"

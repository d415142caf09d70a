"""How a CustomJob of the fake Vertex AI will go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tests.fakes.job_scenarios import JobScenario, Verdict

# Every end of a job, without JOB_STATE_.
ENDS = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
# google.rpc.Code: what a job's error carries where nothing else is said. Of a replica's exit
# status it is 3, as users of the SDK show it ("Job failed with: code: 3 message: The replica ...").
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, INTERNAL = 3, 8, 13
_ENDS_WITH_ERROR = ("FAILED", "EXPIRED")


@dataclass(frozen=True)
class VertexVerdict(Verdict):
    """How a job that ran for real ended.

    Attributes:
        reason: The message of the job's error.
        code: The code of the job's error.
    """

    ends: ClassVar[tuple[str, ...]] = ENDS
    failure: ClassVar[str] = "FAILED"

    outcome: str = "SUCCEEDED"
    code: int = INVALID_ARGUMENT


@dataclass(frozen=True)
class VertexScenario(JobScenario):
    """How a CustomJob will go. States are Google's without ``JOB_STATE_``.

    Hosts are tasks: ``workerpool0-0``, ``workerpool1-2``; ``service`` is Vertex AI itself.

    Attributes:
        reason: The message of the job's error, if it ends with one.
        code: The code of the job's error.
        queued: Whether it waits in the queue first.
        course: Every state before the end, instead of PENDING and RUNNING.
        late_lines: Host -> number of a line -> seconds after its timestamp (or, of lines that
            are not ``timed``, after the others) at which it can be read.
        late_reads: Host -> number of a line -> entries.list requests for this job's lines that
            do not see it yet.
        severities: Start of a line -> its severity; INFO for all others.
    """

    ends: ClassVar[tuple[str, ...]] = ENDS

    outcome: str = "SUCCEEDED"
    code: int = INVALID_ARGUMENT
    queued: bool = False
    course: tuple[str, ...] = ()
    late_lines: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    late_reads: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    severities: Mapping[str, str] = field(default_factory=dict)

    def states(self) -> list[tuple[str, str]]:
        """(state, nothing) in order, the end included."""
        names = list(self.course)
        if not names:
            names = ["QUEUED"] if self.queued else []
            if self.never_started:
                names.append("PENDING")
            else:
                names += ["PENDING", "RUNNING"] * (self.interruptions + 1)
        return [(name, "") for name in names] + self.last_states(self.outcome)

    def last_states(self, outcome: str) -> list[tuple[str, str]]:
        """What follows the running."""
        before = ["CANCELLING"] if outcome == "CANCELLED" else []
        return [(name, "") for name in (*before, outcome)]


def has_error(outcome: str) -> bool:
    """Whether a job with that end has an error."""
    return outcome in _ENDS_WITH_ERROR


def exit_message(job: str, project: str, replica: str = "workerpool0-0", status: int = 1) -> str:
    """What Vertex AI says of a replica that exits with another status than 0.

    Args:
        job: The job's number.
        project: The project's number.
    """
    link = (
        f"https://console.cloud.google.com/logs/viewer?project={project}"
        f"&resource=ml_job%2Fjob_id%2F{job}&advancedFilter=resource.type%3D%22ml_job%22%0A"
        f"resource.labels.job_id%3D%22{job}%22"
    )
    return (
        f"The replica {replica} exited with a non-zero status of {status}. To find out more about "
        f"why your job exited please check the logs: {link}"
    )

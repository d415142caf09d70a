"""How a job of a fake service will go: its states, how long each, its log, its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.fakes.log_lines import Lines

# Ends of a job: secondary status -> status.
ENDS = {
    "Completed": "Completed",
    "Failed": "Failed",
    "Stopped": "Stopped",
    "MaxRuntimeExceeded": "Stopped",
    "MaxWaitTimeExceeded": "Stopped",
}
# What the service says of each step; as jobs of 2024 show it, apart from the two "exceeded" ones,
# of which no captured example was found.
MESSAGES = {
    "Pending": "Training job waiting for capacity",
    "Downloading": "Downloading input data",
    "Training": "Training image download completed. Training in progress.",
    "Interrupted": "Training job interrupted",
    "Stopping": "Stopping the training job",
    "Uploading": "Uploading generated training model",
    "Completed": "Training job completed",
    "Failed": "Training job failed",
    "Stopped": "Training job stopped",
    "MaxRuntimeExceeded": "Training job runtime exceeded MaxRuntimeInSeconds provided",
    "MaxWaitTimeExceeded": "Training job wait time exceeded MaxWaitTimeInSeconds provided",
}


@dataclass(frozen=True)
class Pace:
    """When a job leaves a state: after so many questions about it, or seconds, or at a step.

    With neither of the two the job stays until the test calls ``jobs.step``.
    """

    describes: int | None = None
    seconds: float | None = None


EVERY_DESCRIBE = Pace(describes=1)
BY_HAND = Pace()


@dataclass(frozen=True)
class Verdict:
    """How a job that ran for real ended.

    Attributes:
        ends: The ends that there are: of SageMaker, unless a cloud's own verdict says others.
        failure: The one of a job whose runner failed.
        outcome: One of them.
        reason: What becomes FailureReason.
        model: The model.tar.gz, if there is one.
    """

    ends: ClassVar[Collection[str]] = ENDS
    failure: ClassVar[str] = "Failed"

    outcome: str = "Completed"
    reason: str = ""
    model: Path | None = None

    def __post_init__(self) -> None:
        check_outcome(self.outcome, self.ends)


# Runs the document of an accepted job: gives (host, line) as they come, returns the end,
# and ends soon after the event is set.
Runner = Callable[[Mapping[str, Any], threading.Event], Generator[tuple[str, str], None, Verdict]]


Source = Lines | Iterable[tuple[int, str] | str]


@dataclass(frozen=True)
class JobScenario:
    """How a job of any cloud will go.

    Attributes:
        ends: The states that a job can end in.
        outcome: The state at its end, one of them.
        reason: Why it ended so.
        pace: When it leaves each state.
        paces: The same for single states, by their names.
        never_started: Whether it ends before its containers start (no capacity, no image).
        interruptions: How often its machines are taken away in the middle of training.
        lines: Host -> its log.
        interrupted_lines: The same for each run that was interrupted.
        timed: Lines appear at their time, instead of all at once when training starts.
        late: Host -> seconds after the start of training at which its stream appears.
        hidden: Host -> log requests of this job that do not see its stream yet.
        lines_late: Seconds by which all lines come late, also past the job's end.
        runner: Runs the job for real; states and lines come from there.
        stamps: Whether the guard printed the lines that are guard's and agent's; else a script
            did, and they carry what they say.
    """

    ends: ClassVar[Collection[str]] = ()

    outcome: str = ""
    reason: str = ""
    pace: Pace = EVERY_DESCRIBE
    paces: Mapping[str, Pace] = field(default_factory=dict)
    never_started: bool = False
    interruptions: int = 0
    lines: Mapping[str, Source] = field(default_factory=dict)
    interrupted_lines: Mapping[str, Source] = field(default_factory=dict)
    timed: bool = False
    late: Mapping[str, float] = field(default_factory=dict)
    hidden: Mapping[str, int] = field(default_factory=dict)
    lines_late: float = 0.0
    runner: Runner | None = None
    stamps: bool = True

    def __post_init__(self) -> None:
        check_outcome(self.outcome, self.ends)

    def pace_of(self, state: str) -> Pace:
        """When the job leaves that state."""
        return self.paces.get(state, self.pace)


@dataclass(frozen=True)
class Scenario(JobScenario):
    """How a training job of SageMaker will go. States are its secondary statuses.

    Attributes:
        pending: Whether it waits for capacity first.
        billable: BillableTimeInSeconds, instead of what the clock says.
    """

    ends: ClassVar[Collection[str]] = ENDS

    outcome: str = "Completed"
    pending: bool = False
    billable: int | None = None

    def states(self) -> list[tuple[str, str]]:
        """(secondary status, message) in order, the end included."""
        states = [("Starting", "Starting the training job")]
        if self.pending:
            states.append(("Pending", MESSAGES["Pending"]))
        start = [
            ("Starting", "Preparing the instances for training"),
            ("Downloading", MESSAGES["Downloading"]),
            ("Downloading", "Downloading the training image"),
            ("Training", MESSAGES["Training"]),
        ]
        if not self.never_started:
            for _ in range(self.interruptions):
                states += [*start, ("Interrupted", MESSAGES["Interrupted"])]
            states += start
        return states + self.last_states(self.outcome)

    def last_states(self, outcome: str) -> list[tuple[str, str]]:
        """What follows the training."""
        before = ["Stopping"] if ENDS[outcome] == "Stopped" else []
        before += [] if self.never_started else ["Uploading"]
        return [(name, MESSAGES[name]) for name in (*before, outcome)]


def check_outcome(outcome: str, ends: Collection[str]) -> None:
    """ValueError unless ``outcome`` is one of ``ends``."""
    if outcome not in ends:
        raise ValueError(f"{outcome!r}: expected one of {', '.join(ends)}")

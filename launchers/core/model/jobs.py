"""A job's words: its definition, handle, status and lines; a document from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from launchers.core.model.problems import Problem

# States, the same words for every provider. The first three are not final.
PENDING, RUNNING, STOPPING = "pending", "running", "stopping"
SUCCEEDED, FAILED, STOPPED = "succeeded", "failed", "stopped"
NOT_PROVEN, LOST, TIMED_OUT = "not proven", "lost", "timed out"
FINAL_STATES = frozenset({SUCCEEDED, FAILED, STOPPED, NOT_PROVEN, LOST, TIMED_OUT})


@dataclass(frozen=True)
class Placeholder:
    """A value that only the account knows, as a dry run renders it.

    Attributes:
        path: Where it stands in the document.
        value: What stands there instead.
        fill: The flag, or the step of a submission, that gives the real one.
        at_sending: Whether the launcher fills it by itself when the job is sent.
    """

    path: str
    value: str
    fill: str
    at_sending: bool = False


@dataclass(frozen=True)
class JobDefinition:
    """The provider's request document: printed, rehearsed and sent as these very bytes.

    Attributes:
        text: The document as JSON text, ending with a newline.
        document: The same, parsed.
        destination: Where it is sent, where the document does not say so itself.
        allowed: Names whose values may look like credentials (``--allow-value``).
        strategy: By what its ranks train, as its LAUNCH_STRATEGY says; empty for Horovod.
    """

    provider: str
    name: str
    world_size: int
    text: str
    document: Mapping[str, Any]
    placeholders: tuple[Placeholder, ...] = ()
    destination: Mapping[str, str] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()
    strategy: str = ""


@dataclass(frozen=True)
class JobHandle:
    """What finds a job again: a provider, the job's name, and what the provider needs besides."""

    provider: str
    name: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JobStatus:
    """Where a job stands.

    Attributes:
        state: One of the words above.
        reason: One line for a person; empty while all is well.
        proof: The proof line that was seen in the output, or an empty string.
        details: What the provider adds (times in ISO 8601, folders, links).
    """

    state: str
    reason: str = ""
    proof: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def final(self) -> bool:
        """Whether the job has ended."""
        return self.state in FINAL_STATES


@dataclass(frozen=True)
class LogLine:
    """One whole line of a job's output.

    Attributes:
        time: Seconds since the epoch, UTC; 0.0 where the provider does not say.
        host: The host's name, or an empty string for a line of the job as a whole.
        rank: The global rank, or None for a line of an agent or a container.
        text: The line without its end and without the tag.
    """

    time: float
    host: str
    rank: int | None
    text: str


@dataclass(frozen=True)
class Plain:
    """A plain Python program that each host runs once: its source says what that starts.

    Attributes:
        program: As :attr:`Examined.program`.
        because: Why the document alone does not say what it starts.
        hosts: How many run it where the provider tells them of each other so that they may make
            one world; else 1, and it is asked what one of them starts.
        told: Words by which the provider tells that program of the other hosts.
    """

    program: tuple[str, ...]
    because: str
    hosts: int = 1
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Examined:
    """A document that something else made, as its provider reads it.

    Attributes:
        definition: Its job's name, and the document as it would be sent.
        problems: Every rule that it breaks.
        started: The world size that it starts; None where it does not say.
        carried: The world size that it names itself, as ours do, or None.
        script: The script that our own way of starting runs, or None.
        program: What each rank runs, as far as the document says: a Python file in its code (or
            ``-m`` and a module), then its arguments. Empty where it does not say, or starts ranks
            in a way in which they need no Horovod.
        because: Why it starts so many, in a short clause (``MPI over 2 hosts x 4 processes``);
            where ``started`` is None, why it cannot be told.
        plain: The program, where only its source says what is started; else None.
        horovods: The rules whose warnings are void where the ranks join without Horovod.
    """

    definition: JobDefinition
    problems: tuple[Problem, ...]
    started: int | None
    carried: int | None = None
    script: str | None = None
    program: tuple[str, ...] = ()
    because: str = ""
    plain: Plain | None = None
    horovods: frozenset[str] = frozenset()

    def without_horovod(self) -> Examined:
        """The same, where it is known that the ranks join without it."""
        held = (
            one for one in self.problems if one.rule not in self.horovods or one.severity == "error"
        )
        return replace(self, problems=tuple(held))

    @property
    def answer(self) -> str:
        """What it starts and why, in one clause for a person."""
        if self.started is None:
            why = self.because or "the document does not say"
            return f"cannot tell what it starts: {why}"
        why = f": {self.because}" if self.because else ""
        return f"it starts a world size of {self.started}{why}"


class Listener:
    """What a provider tells while it works; the command line shows it. This one is silent."""

    def say(self, text: str) -> None:
        """One line for a person."""

    def progress(self, label: str, done: int, total: int) -> None:
        """So many bytes of ``total`` have arrived."""

"""What a provider is: its methods, and the table that finds one by its name.

A provider is a folder under ``launchers/`` with the same rooms as the others. Adding one takes
that folder, its templates and one line of :data:`PROVIDERS`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from launchers.core.containers import Conduct as Conduct
from launchers.core.containers import Container as Container
from launchers.core.job import JobSpec, ProviderOptions
from launchers.core.plan import Placeholder, Plan
from launchers.core.problems import EXIT_PREFLIGHT, LaunchError, Problem, did_you_mean

# name -> dotted path of its Provider, imported on use
PROVIDERS = {
    "local": "launchers.local.launcher:LocalProvider",
    "sagemaker": "launchers.sagemaker.launcher:SageMakerProvider",
    "vertex": "launchers.vertex.launcher:VertexProvider",
}

# States, the same words for every provider. The first three are not final.
PENDING, RUNNING, STOPPING = "pending", "running", "stopping"
SUCCEEDED, FAILED, STOPPED = "succeeded", "failed", "stopped"
NOT_PROVEN, LOST, TIMED_OUT = "not proven", "lost", "timed out"
FINAL_STATES = frozenset({SUCCEEDED, FAILED, STOPPED, NOT_PROVEN, LOST, TIMED_OUT})


@dataclass(frozen=True)
class JobDefinition:
    """The provider's request document: printed, rehearsed and sent as these very bytes.

    Attributes:
        text: The document as JSON text, ending with a newline.
        document: The same, parsed.
        destination: Where it is sent, where the document does not say so itself.
        allowed: Names whose values may look like credentials (``--allow-value``).
    """

    provider: str
    name: str
    world_size: int
    text: str
    document: Mapping[str, Any]
    placeholders: tuple[Placeholder, ...] = ()
    destination: Mapping[str, str] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()


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
    """

    definition: JobDefinition
    problems: tuple[Problem, ...]
    started: int | None
    carried: int | None = None
    script: str | None = None
    program: tuple[str, ...] = ()


class Listener:
    """What a provider tells while it works; the command line shows it. This one is silent."""

    def say(self, text: str) -> None:
        """One line for a person."""

    def progress(self, label: str, done: int, total: int) -> None:
        """So many bytes of ``total`` have arrived."""


class Provider(ABC):
    """One place where jobs run.

    ``plan``, ``render`` and ``check`` are pure: no network, no credentials, no SDK import, and
    their input is not changed.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    options: ClassVar[type[ProviderOptions]]
    # What its documents are called; empty where no other tool makes such.
    document_title: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[str]] = frozenset()
    # Rule about flags -> the places in the document that follow from such a flag, as a regular
    # expression of paths. Where flags are wrong, the document's other errors are told with them;
    # empty where there is no document to speak of.
    follows: ClassVar[Mapping[str, str]] = {}
    # Whether the same request again means the same job, until that has failed (see pipeline).
    once: ClassVar[bool] = False
    # What a refused preflight exits with: the request's own fault, or the account's.
    preflight_exit: ClassVar[int] = EXIT_PREFLIGHT
    # Seconds between two looks at a job that somebody waits for.
    poll_seconds: float = 0.3
    listener: Listener = Listener()

    @abstractmethod
    def resolve(self, job: JobSpec) -> JobSpec:
        """``job`` with what only the account knows filled in. May block on the network."""

    @abstractmethod
    def plan(self, job: JobSpec) -> Plan:
        """Every default decided, and the world size computed. Pure."""

    @abstractmethod
    def render(self, plan: Plan) -> JobDefinition:
        """The request document; the same bytes for the same plan. Pure."""

    @abstractmethod
    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        """The part of the document that makes it this job and no other: without name, role,
        bucket and folders. Its digest is part of the job's name. Pure."""

    @abstractmethod
    def check(self, definition: JobDefinition) -> list[Problem]:
        """Every rule that the document breaks, each with its path. Pure."""

    @abstractmethod
    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """What would stop the job, asked before anything is paid for. May block; a check that
        the caller may not make is a problem of severity ``unknown``."""

    @abstractmethod
    def submit(self, definition: JobDefinition, bundle: Any) -> JobHandle:
        """Start the job. The same definition sent twice is one job. May block.

        Raises:
            LaunchError: The provider refused.
        """

    @abstractmethod
    def describe(self, handle: JobHandle) -> JobStatus:
        """Where the job stands now. May block; safe to repeat."""

    @abstractmethod
    def logs(
        self, handle: JobHandle, since: float = 0.0, follow: bool = False, rank: int | None = None
    ) -> Iterator[LogLine]:
        """The job's lines, each once, in order a host. With ``follow`` until the job ends.

        Args:
            since: Leave out what is older, in seconds since the epoch.
            rank: Only this rank's.
        """

    @abstractmethod
    def cancel(self, handle: JobHandle) -> None:
        """Ask for the job's end. Returns quietly for a job that has already ended."""

    @abstractmethod
    def contract(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        """What each host of that job would see, for the rehearsal. Pure.

        Args:
            ranks_per_host: Stands for the document's own number in what the containers see.
            serve_code: Whether code that the document leaves in an object store is served beside
                the containers; without it they ask the cloud.
        """

    def is_taken(self, job: JobSpec, name: str) -> bool:
        """Whether the provider already has a job of that name. May block; safe to repeat."""
        return False

    def without_gpus(self, handle: JobHandle) -> bool:
        """Whether it is known that no rank of the job has a GPU."""
        return False

    def from_elsewhere(self, name: str, region: str | None) -> JobHandle:
        """The handle of a job that this ledger does not know.

        Raises:
            LaunchError: The provider has no such jobs.
        """
        raise LaunchError(
            Problem("JOB", f"{self.name}:{name}", "a job of `launch list`", rule="job-unknown")
        )

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether a document from elsewhere is one of this provider's, right or wrong. Pure."""
        return False

    def examine(self, document: Mapping[str, Any], world_size: int | None = None) -> Examined:
        """What a document from elsewhere is, and every rule that it breaks. Pure.

        Args:
            world_size: What the caller expects, where it says so.
        """
        raise NotImplementedError(f"{self.name} has no documents from elsewhere")

    def machine_rows(self, gpus: int | None = None) -> list[dict[str, Any]]:
        """The rows of `launch machines`: a machine type each, the default for a GPU count marked
        under ``default``. Pure.

        Args:
            gpus: Only those with exactly so many GPUs.
        """
        raise NotImplementedError(f"{self.name} has no machine types")

    def conduct(self, definition: JobDefinition) -> Conduct:
        """How the service treats the job's containers while they run and when they end. Pure."""
        return Conduct()

    def is_guarded(self, definition: JobDefinition) -> bool:
        """Whether the document itself starts our guard in every rank. Pure."""
        return True


def provider(name: str) -> Provider:
    """The provider of that name, its module imported now.

    Raises:
        LaunchError: There is none.
    """
    if name not in PROVIDERS:
        raise LaunchError(
            Problem(
                "provider",
                name,
                "one of " + ", ".join(PROVIDERS),
                did_you_mean(name, PROVIDERS),
                rule="provider-unknown",
            )
        )
    module, _, attribute = PROVIDERS[name].partition(":")
    found: type[Provider] = getattr(importlib.import_module(module), attribute)
    return found()


def having(power: str) -> list[str]:
    """The names of the providers that declare a capability, or have documents (``documents``)."""
    found = []
    for name in PROVIDERS:
        chosen = provider(name)
        declared = chosen.document_title if power == "documents" else power in chosen.capabilities
        if declared:
            found.append(name)
    return found

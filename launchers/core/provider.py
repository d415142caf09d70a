"""What a provider is.

A provider is a folder under ``launchers/`` with the same rooms as the others. Adding one takes
that folder, its templates and one line of the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from launchers.core.model.containers import Conduct, Container
from launchers.core.model.jobs import (
    Examined,
    JobDefinition,
    JobHandle,
    JobStatus,
    Listener,
    LogLine,
)
from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError, Problem
from launchers.core.planning.plan import Plan
from launchers.core.spec.job import JobSpec, ProviderOptions


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

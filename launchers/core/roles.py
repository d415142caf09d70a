"""The roles that a provider plays: what is asked of it, and what it may leave out.

A role that is there is the capability: flags, help and the verbs' choices follow from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from launchers.core.model.jobs import (
    Examined,
    JobDefinition,
    JobHandle,
    JobStatus,
    Listener,
    LogLine,
)
from launchers.core.model.problems import EXIT_PREFLIGHT, Problem
from launchers.core.output.lines import JobWatch
from launchers.core.planning.plan import Account, Plan
from launchers.core.source.bundle import SourceBundle
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec, ProviderOptions
from launchers.core.strategies import NAMES
from launchers.core.wrappings.spec import Wrapping

if TYPE_CHECKING:
    from launchers.core.model.chatter import Chatter
    from launchers.core.model.containers import Conduct, Container

SILENT = Listener()
# In Reader.depends_on: what the world size that a document starts follows from.
SIZE = "the size"


class Definer(ABC):
    """Makes a job's document from what its user asks for. Pure: no network, no credentials, no SDK
    import, and no change to its input."""

    options: ClassVar[type[ProviderOptions]]
    # Fields of JobSpec that mean nothing here: no flag, no key of launch.yaml sets them.
    unused: ClassVar[frozenset[str]] = frozenset()
    # The strategies whose ranks it starts.
    strategies: ClassVar[tuple[str, ...]] = NAMES
    # Whether the source is sent somewhere, or runs where it lies.
    sends_source: ClassVar[bool] = True
    # Rule about flags -> the document's places that follow from such a flag, as a regular
    # expression of paths. Where flags are wrong, the document's other errors are told with them.
    knock_on_errors: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def plan(self, job: JobSpec, source: JobSource) -> Plan:
        """Every default decided, and the world size computed."""

    @abstractmethod
    def render(self, plan: Plan) -> JobDefinition:
        """The request document; the same bytes for the same plan."""

    @abstractmethod
    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        """The part of the document that makes it this job and no other: without name, role,
        bucket and folders. Its digest is part of the job's name."""

    @abstractmethod
    def check(self, definition: JobDefinition) -> list[Problem]:
        """Every rule that the document breaks, each with its path."""

    def command_line(self, definition: JobDefinition) -> str:
        """The command line of the provider's own tool that starts the same as the document; empty
        where it has none."""
        return ""


class Service(ABC):
    """Runs jobs. Every method may block on the network.

    Args:
        listener: Is told what happens meanwhile.
    """

    # What a refused preflight exits with: the request's own fault, or the account's.
    preflight_exit: ClassVar[int] = EXIT_PREFLIGHT

    def __init__(self, listener: Listener = SILENT):
        self.listener = listener

    @property
    def poll_seconds(self) -> float:
        """Seconds between two polls of a job that somebody waits for."""
        return 0.3

    @abstractmethod
    def resolve(self, plan: Plan) -> Account:
        """The plan's account, with what only the account itself knows.

        Raises:
            LaunchError: The account doesn't say, or may not be asked.
        """

    @abstractmethod
    def preflight(self, definition: JobDefinition) -> list[Problem]:
        """What would stop the job, asked before anything is paid for. A check that the caller may
        not make is a problem of severity ``unknown``."""

    @abstractmethod
    def submit(self, definition: JobDefinition, bundle: SourceBundle) -> JobHandle:
        """Start the job. The same definition sent twice is one job.

        Raises:
            LaunchError: The provider refused.
            InDoubtError: It is not known whether the job was taken.
        """

    @abstractmethod
    def describe(self, handle: JobHandle) -> JobStatus:
        """The job's state now. Safe to repeat."""

    @abstractmethod
    def logs(
        self,
        handle: JobHandle,
        since: float = 0.0,
        follow: bool = False,
        rank: int | None = None,
        watch: JobWatch | None = None,
    ) -> Iterator[LogLine]:
        """The job's lines, each once, in order a host. With ``follow`` until the job ends.

        Args:
            since: Leave out what is older, in seconds since the epoch.
            rank: Only this rank's.
            watch: Sees each line before it is given.

        Raises:
            LaunchError: There is no such job, or its logs may not be read.
        """

    def newest_lines(self, handle: JobHandle) -> Sequence[LogLine]:
        """The newest lines of the job's first host, the oldest first: as many as a few requests
        give. None where the provider has no such way. Safe to repeat.

        Raises:
            LaunchError: There is no such job, or its lines may not be read.
        """
        return ()

    @abstractmethod
    def cancel(self, handle: JobHandle) -> None:
        """Ask for the job's end. Returns quietly for a job that has already ended.

        Raises:
            LaunchError: The provider refused.
        """

    @abstractmethod
    def name_exists(self, plan: Plan, name: str) -> bool:
        """Whether the provider already has a job of that name. Safe to repeat."""

    def adopt(self, name: str, region: str | None) -> JobHandle | None:
        """The handle of a job that this ledger does not know; None where there are no such jobs.

        Raises:
            LaunchError: There is none of that name, or nothing says where it runs.
        """
        return None

    def detach(self, handle: JobHandle) -> None:  # noqa: B027 - most jobs do by themselves
        """Let the job outlive this process. Safe to repeat."""

    def without_gpus(self, handle: JobHandle) -> bool:
        """Whether it is known that no rank of the job has a GPU."""
        return False


class Contract(ABC):
    """What a provider's containers can rely on, for the rehearsal. Pure."""

    @abstractmethod
    def containers(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        """What each host of that job would see.

        Args:
            ranks_per_host: Stands for the document's own number in what the containers see.
            serve_code: Whether code that the document leaves in an object store is served beside
                the containers; without it they ask the cloud.
        """

    @abstractmethod
    def conduct(self, definition: JobDefinition) -> Conduct:
        """How the service treats the job's containers while they run and when they end."""

    def unlike(self, definition: JobDefinition) -> str:
        """Why containers here would not show what that job starts, in a clause; else empty."""
        return ""

    def chatter(self) -> Chatter:
        """What they print around a job."""
        from launchers.core.model.chatter import Chatter

        return Chatter()

    @abstractmethod
    def is_guarded(self, definition: JobDefinition) -> bool:
        """Whether the document itself starts our guard in every rank."""


class Reader(ABC):
    """Reads documents that another tool made. Pure."""

    # What such a document is called.
    document_title: ClassVar[str]
    # Rule -> the places in a document that it depends on besides the one that it names, as
    # ``$.ResourceConfig.InstanceCount`` with ``[*]`` for any index and ``.**`` at the end for all
    # that lies below; under :data:`SIZE` those that the world size follows from. Where one of them
    # is not known here, the rule says nothing.
    depends_on: ClassVar[Mapping[str, Sequence[str]]] = {}

    @property
    def wrappings(self) -> Sequence[Wrapping]:
        """The documents of other tools in which such a one may lie."""
        return ()

    @abstractmethod
    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Whether a document is one of this provider's, right or wrong."""

    @abstractmethod
    def examine(self, document: Mapping[str, Any], world_size: int | None = None) -> Examined:
        """What a document is, and every rule that it breaks.

        Args:
            world_size: What the caller expects, where it says so.
        """


class Importer(ABC):
    """Turns the job files of a service that is no more into launch.yaml. Pure."""

    # The service's name.
    service_title: ClassVar[str]

    @abstractmethod
    def imported(
        self, config: Mapping[str, Any], words: Sequence[str], arguments: Sequence[str] | None
    ) -> tuple[dict[str, Any], list[Problem]]:
        """Keys of launch.yaml with their values, and problems: an error for what has no
        counterpart, a warning for what changed.

        Args:
            config: The file's content.
            words: The flags of that service's command line.
            arguments: The script's own, or None where they are in the file.
        """


class Catalogue(ABC):
    """The machine types that a provider rents out. Pure."""

    # The keys of its rows that may give way where a terminal is narrow, the first one first.
    may_go: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def machine_rows(self, gpus: int | None = None) -> list[dict[str, Any]]:
        """The rows of `launch machines`; the default for a GPU count is marked ``default``.

        Args:
            gpus: Only those with exactly so many GPUs.
        """

    @abstractmethod
    def regions(self) -> Sequence[str]:
        """Where the provider has machines, by the names that ``--region`` takes; for completion, no
        limit of what is allowed."""

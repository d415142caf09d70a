"""What a strategy says of itself, in a replica. The base of all of them.

Agent, coordinator, guard and verdict ask the strategy, and know none by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Mapping, MutableMapping, NamedTuple, Sequence

from launch_runtime.evidence.finding import Finding
from launch_runtime.evidence.judge import judge
from launch_runtime.evidence.records import Record
from launch_runtime.rank import identity, tracebacks
from launch_runtime.rank.identity import Place
from launch_runtime.rank.import_hook import OnImport
from launch_runtime.stacks import Wait
from launch_runtime.words import Words

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector
    from launch_runtime.rank.world_check import WorldCheck

# Set by Vertex AI on distributed jobs. Keras acts on TF_CONFIG; WORLD_SIZE counts replicas.
SERVICES_OWN = ("TF_CONFIG", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")

Table = Callable[["Collector"], Mapping[str, OnImport]]  # module -> what to do once it is there


class Contact(NamedTuple):
    """Where a host can be met: its address, and a TCP port that was free there."""

    address: str
    port: int


class Seat(NamedTuple):
    """A rank's seat in the job, as its agent knows it.

    Attributes:
        host: This host's name.
        position: This host's place among the hosts, from 0.
        hosts: How many there are.
        processes: Ranks of each host.
        local_rank: From 0 to ``processes`` - 1.
        job: The job's name.
        keys: Address and port at which this host's agent answers for keys that all ranks share.
        contacts: One of each host, in the order of the hosts; empty for a strategy that asks for
            none (``wants_port``).
        interface: The network interface to the other hosts, or "".
        several: Whether this host has more than one, or the job is on one machine.
    """

    host: str
    position: int
    hosts: int
    processes: int
    local_rank: int
    job: str = ""
    keys: Contact = Contact("", 0)
    contacts: Sequence[Contact] = ()
    interface: str = ""
    several: bool = False

    @property
    def size(self) -> int:
        """Ranks of the job."""
        return self.hosts * self.processes

    @property
    def rank(self) -> int:
        """The layout is static: host's position x processes + local rank."""
        return self.position * self.processes + self.local_rank


class Strategy:
    """The defaults are for a strategy whose ranks launch's own agent starts.

    Attributes:
        name: As in LAUNCH_STRATEGY.
        words: For messages.
        wants_port: Whether its ranks meet at a port of a host, which that host's agent chooses.
        replicated: LAUNCH_WORLD_SIZE counts replicas, of which a rank has several; else ranks.
        settles_keras: Whether the script is given the Keras that Horovod needs.
        single: It has one rank and no more.
        taken_out: Variables that are kept from the ranks unless :meth:`variables` sets them.
        watched: Variables that a script should leave as it finds them: a change is told.
        place_names: Those of the watched ones whose change makes a child process a rank of
            something else.
        tables: What watches the training: the hooks of the evidence.
        waits: Where ranks wait for each other: by them the rank is found that others wait for.
    """

    name: str
    words: Words
    wants_port = True
    replicated = False
    settles_keras = False
    single = False
    taken_out: Sequence[str] = SERVICES_OWN
    watched: Sequence[str] = ()
    place_names: Sequence[str] = ()
    tables: Sequence[Table] = ()
    waits: Sequence[Wait] = ()

    # -- on a host, before ranks start -----------------------------------------------------------

    def variables(self, seat: Seat) -> Mapping[str, str]:
        """What a rank finds in its environment, whatever was there before."""
        raise NotImplementedError

    def defaults(self, seat: Seat, environment: Mapping[str, str]) -> Mapping[str, str]:
        """What it finds there unless it is set already; ``environment`` is what is set."""
        return {}

    def trouble(self, others_elsewhere: bool) -> str:
        """What is wrong with this machine for this strategy, or "".

        Args:
            others_elsewhere: Ranks run on other machines too.
        """
        return ""

    def judge(
        self, evidence: Mapping[int, Sequence[Record]], ranks: int, world_size: int, mode: str
    ) -> Finding:
        """Whether the ranks of a job that ended well trained together.

        Args:
            evidence: Rank -> the last record of each of its processes.
            ranks: Processes of the job.
            world_size: The same, or more where a rank has several replicas.
            mode: Of ``evidence.records.MODES``.
        """
        return judge(evidence, ranks, mode, self.words)

    # -- in a rank -------------------------------------------------------------------------------

    def place(self, environment: Mapping[str, str], has_agent: bool) -> Place:
        """This rank's place as whoever started it says: here, launch's agent alone does.

        Raises:
            environment.SettingError: A variable is no number.
        """
        if not has_agent:
            return identity.nobody()
        return identity.from_agent(environment)

    def prepare(self, environment: MutableMapping[str, str], place: Place) -> None:
        """Changes the rank's environment before the script runs."""

    def watch(self, check: WorldCheck) -> None:
        """From now on, in this process, ``check`` is asked before the world is joined, and told
        once it is (:meth:`WorldCheck.before`, ``joined``) and before it is left (``leaving``).

        Imports no framework: see :func:`launch_runtime.rank.import_hook.when_imported`.
        """

    def is_consequence(self, error: BaseException) -> bool:
        """Whether an error of the script is what a rank meets when another one has gone; of a
        chain each is asked."""
        return tracebacks.names_peer(error)

    def problem(self, world_size: int) -> str:
        """Why a job cannot be of this strategy, or ""."""
        if self.single and world_size > 1:
            return f"found {world_size}; strategy {self.name} runs one rank, so expected 1"
        return ""

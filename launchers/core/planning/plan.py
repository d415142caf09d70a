"""What a job will be, before anything is rendered: its numbers and the lines that are shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from launchers.core.model.jobs import Placeholder
from launchers.core.model.problems import Problem
from launchers.core.planning.gpu_pinning import Pinning
from launchers.core.planning.origins import told
from launchers.core.records.naming import Run, shortened_name
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec, base_name
from launchers.core.spec.targets import targets_of
from launchers.core.strategies import FIRST, named
from launchers.core.strategies.strategy import Strategy


@dataclass(frozen=True)
class Row:
    """One line of the plan as it is shown: what, its value, and where the value came from.

    Flags in ``origin`` stand for whatever gave their values (:func:`origins.told`).
    """

    label: str
    text: str
    origin: str = ""


@dataclass(frozen=True)
class StrategyChoice:
    """By which strategy the ranks train, and what was seen of it.

    Attributes:
        strategy: What is known of it.
        processes: Of each host.
        rows: What the plan shows of the choice; none where there is nothing to say.
        problems: Why it may not be the right one.
        known: Whether it was asked for or there was a script to read. Where it is not, nothing is
            to be said of what the ranks' Python has for it.
    """

    strategy: Strategy
    processes: int = 1
    rows: tuple[Row, ...] = ()
    problems: tuple[Problem, ...] = ()
    known: bool = True

    @property
    def name(self) -> str:
        """The word of ``--strategy``."""
        return self.strategy.name


@dataclass(frozen=True)
class Account:
    """What a job needs of the account that it runs in. Providers with accounts subclass it."""


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """A job with every default decided, once. Providers subclass it with their own decisions.

    Fields hold what was decided. What follows from that, from the account and from the run (names,
    folders, variables, rows) is computed from them, so that :meth:`with_account` and
    :meth:`with_run` need no second plan. ``world_size`` is computed here and nowhere else.

    Attributes:
        processes: Ranks on each host.
        gpus: GPUs of each host.
        problems: What is wrong with the request, before there is a document.
        strategy: By what its ranks train together.
    """

    job: JobSpec
    source: JobSource
    processes: int
    gpus: int
    pinning: Pinning
    account: Account = Account()
    problems: tuple[Problem, ...] = ()
    strategy: StrategyChoice = StrategyChoice(named(FIRST))
    run: Run = Run()  # noqa: RUF009 - frozen

    @property
    def name(self) -> str:
        """The job's whole name."""
        return self.run.name

    @property
    def instances(self) -> int:
        """Hosts."""
        return self.job.instances

    @property
    def layout(self) -> str:
        """Hosts, ranks and world size, in words."""
        replicas = max(self.gpus, 1) if self.strategy.strategy.one_a_host else 0
        return layout(self.instances, self.processes, replicas)

    @property
    def world_size(self) -> int:
        """Ranks in the whole job: instances x processes per instance; replicas where a process
        has one on each of its GPUs."""
        return self.strategy.strategy.world_size(self.instances, self.processes, self.gpus)

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """The variables of every rank."""

    @property
    @abstractmethod
    def checkpoints(self) -> str:
        """Where the checkpoints lie, for a later run that goes on from them."""

    @property
    @abstractmethod
    def placeholders(self) -> tuple[Placeholder, ...]:
        """What only the account knows, and is not known yet."""

    @property
    def machine_name(self) -> str:
        """The type of its rented machines; empty where none is rented."""
        return ""

    @property
    def time_limit(self) -> int | None:
        """Seconds after which it is ended; None where nothing limits it."""
        return self.job.max_runtime

    @property
    def features(self) -> frozenset[str]:
        """What the request needs of the provider's SDK, in the words of minimums.json."""
        return frozenset()

    @property
    def destination(self) -> Mapping[str, str]:
        """Where the request goes: what its address says and its document doesn't."""
        return {}

    @property
    def rows(self) -> tuple[Row, ...]:
        """The plan as it is shown: without credentials, those that ``--allow-value`` lets pass
        too."""
        from launchers.core.credentials.elsewhere import without_credentials

        run = [Row("run", str(self.run.number), self.run.why)] if self.run.why else []
        whole, short = base_name(self.job), shortened_name(self.job)
        cut = f"cut from {whole}: digest and number need the room" if whole != short else ""
        elsewhere = self.job.origin("name", "")
        named = [Row("name", self.name, cut or elsewhere)] if cut or elsewhere else []
        unlike = [Row("" if at else "differs", text) for at, text in enumerate(self.run.unlike)]
        rows = (*named, *self._rows(), *self._notify_rows(), *run, *unlike)
        return tuple(
            replace(row, text=without_credentials(row.text), origin=told(self.job, row.origin))
            for row in rows
        )

    def _notify_rows(self) -> list[Row]:
        """Who is told of the end; no row where nobody is."""
        shown = ", ".join(target.shown for target in targets_of(self.job.notify))
        return [Row("notify", shown or "nobody", "--notify")] if self.job.notify else []

    @abstractmethod
    def _rows(self) -> Sequence[Row]:
        """One row a decision."""

    def _checkpoint_place(self, own: str) -> str:
        """``--checkpoint``, else that of the run which this one goes on from, else ``own``."""
        inherited = self.run.inherited
        return self.job.checkpoint or (inherited.checkpoint if inherited else own)

    def with_account(self, account: Account) -> Plan:
        """The same job in an account of which everything is known."""
        return replace(self, account=account)

    def with_run(self, run: Run) -> Plan:
        """The same job with the name and the checkpoints of its run."""
        return replace(self, run=run)


def counted(number: int, noun: str) -> str:
    """``1 host``, ``2 hosts``, ``2 processes``."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"


def spread(hosts: int, processes: int) -> str:
    """``2 hosts x 4 processes``: what starts processes of one job, and where."""
    return f"{counted(hosts, 'host')} x {counted(processes, 'process')}"


def layout(instances: int, processes: int, replicas: int = 0) -> str:
    """``2 hosts x 4 ranks = world size 8``, the way it is said everywhere.

    Args:
        replicas: Of the model in each process, where these are counted: ``2 hosts x 1 process x 4
            replicas = world size 8``.
    """
    hosts = counted(instances, "host")
    if replicas:
        each = f"{counted(processes, 'process')} x {counted(replicas, 'replica')}"
        return f"{hosts} x {each} = world size {instances * processes * replicas}"
    return f"{hosts} x {counted(processes, 'rank')} = world size {instances * processes}"

"""What a study of scaling found: runs as they ended, and rows of equal runs with their spread.

Plain values, written as JSON while the study runs and read again when it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """One point of the grid: how large, and with which of the compared values.

    Attributes:
        instances: Hosts.
        processes: Ranks of each host.
        gpus: GPUs of each host; None where the study leaves them to the launcher.
        variant: (name, value) of each ``--compare``, such as (("lr-scaling", "linear"),).
    """

    instances: int
    processes: int
    gpus: int | None = None
    variant: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Epoch:
    """What a job's output said at the end of one epoch; None for what it did not say.

    Attributes:
        number: From 1.
        seconds: Of training since the run's first step, compiling and validation left out.
        images_per_second: Of the whole job, in this epoch.
        loss: Of training, averaged over ranks.
        accuracy: Of training, 0 to 1.
        validation_loss: On the whole validation or test split.
        validation_accuracy: The same, 0 to 1.
    """

    number: int
    seconds: float | None = None
    images_per_second: float | None = None
    loss: float | None = None
    accuracy: float | None = None
    validation_loss: float | None = None
    validation_accuracy: float | None = None


@dataclass(frozen=True)
class Run:
    """One job of the study, ended or not begun.

    Attributes:
        size: Where it stands in the grid.
        repeat: From 1; also what the seed is made of.
        world_size: Ranks, or replicas where the strategy counts those.
        job: Its name in the ledger; empty before it is started.
        state: ``waiting`` or one of ``launchers.core.model.jobs``' states.
        reason: One line of why it did not succeed, or of what is wrong with what it learned.
        epochs: In order.
        test_accuracy: Of the result line, 0 to 1.
        test_loss: The same.
        cost: US dollars of the machines for as long as they were billed; None where unknown.
        load: Cores of this machine that other programs kept busy when the run began; None on a
            cloud, or where the system does not say.
    """

    size: Size
    repeat: int
    world_size: int
    job: str = ""
    state: str = "waiting"
    reason: str = ""
    epochs: tuple[Epoch, ...] = ()
    test_accuracy: float | None = None
    test_loss: float | None = None
    cost: float | None = None
    load: float | None = None


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Row:
    """All runs of one size; None for what no run said.

    Attributes:
        size: Where it stands in the grid.
        world_size: As in its runs.
        runs: Each repeat.
        epoch_seconds: Of an epoch; the first one of a run is left out where there are several.
        images_per_second: Of the whole job.
        speed_up: Beside the smallest size of the same variant, paired by repeat.
        efficiency: Speed-up divided by how many times larger the world is.
        loss: Of training, after the last epoch.
        accuracy: The same.
        validation_loss: After the last epoch, else of the result line.
        validation_accuracy: The same.
        cost: US dollars a run.
    """

    size: Size
    world_size: int
    runs: tuple[Run, ...]
    epoch_seconds: Spread | None = None
    images_per_second: Spread | None = None
    speed_up: Spread | None = None
    efficiency: Spread | None = None
    loss: Spread | None = None
    accuracy: Spread | None = None
    validation_loss: Spread | None = None
    validation_accuracy: Spread | None = None
    cost: Spread | None = None


@dataclass(frozen=True)
class Study:
    """A whole study, as its report shows it.

    Attributes:
        name: Of its folder.
        command: The command line that made it, without credentials.
        provider: ``local``, ``sagemaker``, ``vertex``.
        machine: What it ran on, for people: processor and cores, or the machine type.
        begun: ISO 8601, UTC.
        batch: ``total`` where all sizes share one batch, ``rank`` where each rank has its own.
        rows: Variant by variant, each from small to large.
        load: The lowest and the highest of the runs' loads; None where none has one.
        cores: That the ranks of this machine share; None where GPUs or a cloud do the work.
        changed: Files of the source that changed while it ran.
    """

    name: str
    command: str
    provider: str
    machine: str
    begun: str
    batch: str
    rows: tuple[Row, ...]
    load: tuple[float, float] | None = None
    cores: int | None = None
    changed: tuple[str, ...] = ()

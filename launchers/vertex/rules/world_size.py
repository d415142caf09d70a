"""How many ranks a CustomJob really starts, against how many were meant."""

from __future__ import annotations

from collections.abc import Sequence

from launchers.core.analysis.plain_start.start import Start
from launchers.core.analysis.plain_start.world import World
from launchers.core.model.document import MOST_RANKS, rank_count
from launchers.core.model.problems import Problem, Severity
from launchers.core.planning.plan import counted, layout
from launchers.core.strategies import named, said_by
from launchers.vertex.catalogue import RULES
from launchers.vertex.rules import partitions
from launchers.vertex.rules.pools import (
    INSTANCES,
    PROCESSES,
    WORLD_SIZE,
    Pool,
    carries_world_size,
    first_pool,
    rank_pools,
    rank_replicas,
)
from launchers.vertex.rules.starts import HOROVODS, carried_world_size, number, starts, world
from launchers.vertex.tables import machines

_POOLS = "$.jobSpec.workerPoolSpecs"


def check_world_size(document: object, expected: int | None, ours: bool) -> list[Problem]:
    """Everything that makes the job's world size another than the one that was meant.

    Args:
        expected: ``--world-size``, or None.
        ours: Whether the document carries LAUNCH_WORLD_SIZE.
    """
    problems = _pools(document)
    carried = carried_world_size(document) if ours else None
    if expected is not None and carried is not None and expected != carried:
        found = f"{carried}, as {WORLD_SIZE} says"
        problems.append(RULES["world-size"].at("--world-size", str(expected), found))
    if carries_world_size(document):
        return problems + _numbers(document)
    return problems + _started(document, expected)


def _pools(document: object) -> list[Problem]:
    """The pools themselves: one primary replica, something to run in each."""
    problems = []
    first = first_pool(document)
    if first is None or first.index:
        expected = "the pool of the primary replica"
        problems.append(RULES["pool-primary"].at(f"{_POOLS}[0]", "no such pool", expected))
    elif first.replicas is not None and first.replicas != 1:
        where = f"{first.path}.replicaCount"
        fix = "the other replicas belong in the second pool"
        problems.append(
            RULES["pool-primary"].at(where, str(first.replicas), "1, the primary replica", fix)
        )
    for pool in rank_pools(document):
        if pool.index and pool.replicas is not None and not 1 <= pool.replicas <= MOST_RANKS:
            where = f"{pool.path}.replicaCount"
            few = pool.replicas < 1
            expected = "at least 1, or {} for an unused pool" if few else f"at most {MOST_RANKS:,}"
            problems.append(RULES["pool-replicas"].at(where, str(pool.replicas), expected))
        if "containerSpec" not in pool.spec and "pythonPackageSpec" not in pool.spec:
            expected = "containerSpec or pythonPackageSpec"
            problems.append(RULES["pool-task"].at(pool.path, "nothing to run", expected))
    return problems


def _numbers(document: object) -> list[Problem]:
    """LAUNCH_WORLD_SIZE, LAUNCH_INSTANCES, LAUNCH_PROCESSES against the replicas and their GPUs."""
    problems = []
    replicas = rank_replicas(document)
    for pool in rank_pools(document):
        whole, hosts, ranks = (number(pool, name) for name in (WORLD_SIZE, INSTANCES, PROCESSES))
        path = f"{pool.task_path}.env"
        for name, value in ((WORLD_SIZE, whole), (INSTANCES, hosts), (PROCESSES, ranks)):
            if value is None or value < 1:
                found = dict(pool.environment).get(name, "missing")
                expected = f"a whole number from 1 to {MOST_RANKS:,}"
                problems.append(RULES["world-size"].at(f"{path}.{name}", found[:40], expected))
        if replicas is not None and hosts is not None and hosts != replicas:
            expected = f"{replicas}, as many as the pools have replicas"
            problems.append(RULES["world-size"].at(f"{path}.{INSTANCES}", str(hosts), expected))
        strategy = named(said_by(dict(pool.environment)))
        each = max(pool.gpus, 1) if strategy.one_a_host else 0
        if replicas is not None and ranks and whole is not None:
            started = strategy.world_size(replicas, ranks, pool.gpus)
            if whole != started:
                where, expected = f"{path}.{WORLD_SIZE}", layout(replicas, ranks, each)
                problems.append(RULES["world-size"].at(where, str(whole), expected))
        if ranks and not strategy.one_a_host:
            problems += _gpus(pool, ranks, f"{path}.{PROCESSES}")
    return problems


def _started(document: object, expected: int | None) -> list[Problem]:
    """What a document that is not ours starts."""
    found = starts(document)
    problems: list[Problem] = []
    told: list[tuple[Start, int]] = []
    for pool, start in found:
        if (start, pool.gpus) in told:
            continue  # Pools mostly start the same, and a mistake is told once.
        told.append((start, pool.gpus))
        if start.dropped:
            problems.append(_dropped(pool, start))
        if start.launcher and start.each:
            # Ranks that are not Horovod's may share a GPU, or use none.
            sure = start.launcher in HOROVODS
            problems += _gpus(pool, start.each, pool.task_path, "error" if sure else "warning")
    one = world(document)
    where = next((pool.task_path for pool, _ in found), _POOLS)
    working = [(pool, start) for pool, start in found if not start.idle]
    if one.copies > 1:
        problems.append(_copies(working, one, expected))
    elif one.never:
        meant = f"a world size of {expected}" if expected else "one job of all replicas"
        torchruns = all(start.launcher == "torchrun" for _, start in working)
        fix = _torchrun_line(working) if torchruns else ""
        problems.append(RULES["world-size"].at(where, one.never, meant, fix))
    elif expected is not None and one.started is not None and one.started != expected:
        problems.append(_other_size(where, one, expected))
    elif expected not in (None, 1) and one.started is None:
        problems.append(
            RULES["world-size"].at(where, one.because, f"world size {expected}", severity="unknown")
        )
    return problems


def _copies(working: Sequence[tuple[Pool, Start]], one: World, expected: int | None) -> Problem:
    """Every replica starts a job of its own, and the service says nothing of it."""
    (pool, start), *_ = working
    each = one.started or 0
    meant = expected if expected is not None else one.copies * max(pool.gpus, each, 1)
    if expected is not None and expected == each:
        fix = "one replica is enough for it: leave the second pool out"
    elif start.launcher in HOROVODS:
        fix = f"{horovod_line(meant, one.copies, pool.gpus)} starts one, without ssh"
    else:
        fix = _torchrun_line(working, meant)
    found_text = f"{one.because}, and the job succeeds when the primary replica's does"
    return RULES["world-size"].at(pool.task_path, found_text, f"one job of world size {meant}", fix)


def horovod_line(meant: int, replicas: int, gpus: int) -> str:
    """The command that starts ``meant`` ranks, on as many replicas as there are where machines have
    the GPUs for it.

    Example:
        >>> horovod_line(4, 2, 4)
        'launch vertex --instances 2 --gpus 2'
        >>> horovod_line(6, 4, 4)
        'launch vertex --instances 2 --gpus 4 --processes 3'
        >>> horovod_line(64, 2, 4)
        'launch vertex --instances 4 --gpus 16'
    """
    counts = machines.gpu_counts()
    most = max(meant // replicas, gpus, 1)
    if gpus:
        most = min(most, max(counts))
    ranks = meant // replicas
    if meant % replicas or ranks > most:
        ranks = next(count for count in range(most, 0, -1) if meant % count == 0)
    hosts = meant // ranks
    words = f"launch vertex --instances {hosts} --gpus "
    if not gpus:
        return f"{words}0 --processes {ranks}"
    if ranks in counts:
        return f"{words}{ranks}"
    return f"{words}{min(count for count in counts if count > ranks)} --processes {ranks}"


def _torchrun_line(working: Sequence[tuple[Pool, Start]], meant: int | None = None) -> str:
    """torchrun as the replicas find each other by it: behind a shell, for the variables' sake."""
    first, *_ = pools = [pool for pool, _ in working]
    replicas = sum(rank_count(pool.replicas) or 0 for pool in pools)
    if replicas < 2:
        return "on one replica torchrun needs no --nnodes"
    if first.index:
        return "let the primary replica start it too: MASTER_ADDR is its address"
    each = meant // replicas if meant and meant % replicas == 0 else first.gpus or 1
    return (
        f"behind `bash -c`: torchrun --nnodes={replicas} --nproc_per_node={each} "
        "--node_rank=$RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
    )


def _other_size(where: str, one: World, expected: int) -> Problem:
    found = f"it starts a world size of {one.started}: {one.because}"
    return RULES["world-size"].at(where, found, f"world size {expected}")


def _dropped(pool: Pool, start: Start) -> Problem:
    return RULES["exit-code"].at(pool.task_path, f"{start.text}: {start.dropped}")


def _gpus(pool: Pool, ranks: int, path: str, above: Severity = "error") -> list[Problem]:
    gpus = pool.gpus
    if not gpus or ranks == gpus:
        return []
    if pool.partition:
        return [partitions.too_many(pool, ranks, path, above)]
    found = f"{ranks} on a replica with {counted(gpus, 'GPU')}"
    if ranks > gpus:
        expected = f"at most {gpus}: one rank a GPU"
        return [RULES["ranks-above-gpus"].at(path, found, expected, severity=above)]
    fix = f"{counted(gpus - ranks, 'GPU')} of each replica stay idle, and are paid for"
    return [RULES["ranks-below-gpus"].at(path, found, str(gpus), fix)]

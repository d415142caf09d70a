"""How many ranks a CustomJob really starts, against how many were meant."""

from __future__ import annotations

from launchers.core.model.document import whole_number
from launchers.core.model.problems import Problem, Severity
from launchers.core.planning.plan import counted, layout
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import words_of
from launchers.vertex.rules.command import Start, python_words, read_start
from launchers.vertex.rules.pools import (
    INSTANCES,
    PROCESSES,
    WORLD_SIZE,
    Pool,
    carries_world_size,
    rank_pools,
    rank_replicas,
)
from launchers.vertex.rules.start import starts_agent

_POOLS = "$.jobSpec.workerPoolSpecs"


def started_world_size(document: object) -> int | None:
    """Ranks that one job of the document has.

    With our agent: replicas x LAUNCH_PROCESSES. With a launcher of Horovod or MPI: its ``-np``,
    which counts the ranks of its own replica unless it is told of other hosts. With a plain
    Python program 1, since each replica then trains by itself. None where the document doesn't
    say, as with an image's own entry point.
    """
    found = rank_pools(document)
    if not found:
        return None
    if all(starts_agent(pool) for pool in found):
        replicas, ranks = rank_replicas(document), _number(found[0], PROCESSES)
        return replicas * ranks if replicas is not None and ranks is not None else None
    starts = [start_of(pool) for pool in found]
    if any(start is None for start in starts):
        return None
    ranks_of_each = {start.ranks for start in starts if start is not None}
    return ranks_of_each.pop() if len(ranks_of_each) == 1 else None


def because(document: object) -> str:
    """Why :func:`started_world_size` says what it says, in a short clause."""
    found = rank_pools(document)
    if not found:
        return "there is no pool that runs anything"
    if all(starts_agent(pool) for pool in found):
        replicas, ranks = rank_replicas(document), _number(found[0], PROCESSES)
        if replicas is None or ranks is None:
            return "the number of replicas or of processes on each is not said"
        return f"our agent on {counted(replicas, 'replica')} x {counted(ranks, 'process')}"
    start = start_of(found[0])
    if start is None:
        return "the command may start anything"
    if start.ranks is None:
        return f"{start.text or 'the command'} does not say how many ranks it starts"
    return start.text or "each replica runs the program by itself"


def carried_world_size(document: object) -> int | None:
    """LAUNCH_WORLD_SIZE of the first pool; None where it is missing or no number."""
    found = rank_pools(document)
    return _number(found[0], WORLD_SIZE) if found else None


def start_of(pool: Pool) -> Start | None:
    """What a replica of a pool starts by its command; None where that is not said."""
    if "pythonPackageSpec" in pool.spec and "containerSpec" not in pool.spec:
        module = pool.task.get("pythonModule")
        return Start(text=f"python -m {module}"[:60]) if isinstance(module, str) else None
    # Without a command the image's entry point runs, with args behind it.
    return read_start(pool.words("command", "args")) if pool.words("command") else None


def program_of(document: object) -> tuple[str, ...]:
    """What each rank runs, a Python file or ``-m`` and a module, with its arguments: by our agent,
    or by a launcher of Horovod or MPI. Empty for anything else."""
    found = rank_pools(document)
    if not found:
        return ()
    if starts_agent(found[0]):
        return tuple(words_of(found[0].words("args")))
    start = start_of(found[0])
    if start is None or not start.launcher:
        return ()
    return tuple(python_words(found[0].words("command", "args"))[1:])


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
    found = rank_pools(document)
    first = found[0] if found else None
    if first is None or first.index != 0:
        expected = "the pool of the primary replica"
        problems.append(RULES["pool-primary"].at(f"{_POOLS}[0]", "no such pool", expected))
    elif first.replicas is not None and first.replicas != 1:
        where = f"{first.path}.replicaCount"
        fix = "the other replicas belong in the second pool"
        problems.append(
            RULES["pool-primary"].at(where, str(first.replicas), "1, the primary replica", fix)
        )
    for pool in found:
        if pool.index and pool.replicas is not None and pool.replicas < 1:
            where = f"{pool.path}.replicaCount"
            expected = "at least 1, or {} for an unused pool"
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
        world, hosts, ranks = (_number(pool, name) for name in (WORLD_SIZE, INSTANCES, PROCESSES))
        path = f"{pool.task_path}.env"
        for name, value in ((WORLD_SIZE, world), (INSTANCES, hosts), (PROCESSES, ranks)):
            if value is None or value < 1:
                found = dict(pool.environment).get(name, "missing")
                expected = "a whole number from 1"
                problems.append(RULES["world-size"].at(f"{path}.{name}", found[:40], expected))
        if replicas is not None and hosts is not None and hosts != replicas:
            expected = f"{replicas}, as many as the pools have replicas"
            problems.append(RULES["world-size"].at(f"{path}.{INSTANCES}", str(hosts), expected))
        if replicas is not None and ranks and world is not None and world != replicas * ranks:
            expected = layout(replicas, ranks)
            problems.append(RULES["world-size"].at(f"{path}.{WORLD_SIZE}", str(world), expected))
        if ranks:
            problems += _gpus(pool, ranks, f"{path}.{PROCESSES}")
    return problems


def _started(document: object, expected: int | None) -> list[Problem]:
    """What a document that is not ours starts."""
    found = rank_pools(document)
    replicas = rank_replicas(document) or 0
    starts = [(pool, start_of(pool)) for pool in found]
    problems = []
    for pool, start in starts:
        if start is not None and start.dropped:
            problems.append(_dropped(pool, start))
        if start is not None and start.launcher and start.ranks and not start.names_hosts:
            problems += _gpus(pool, start.ranks, pool.task_path)
    one = started_world_size(document)
    lonely = [(pool, start) for pool, start in starts if start and not start.names_hosts]
    if replicas > 1 and lonely and len(lonely) == len(starts):
        problems.append(_copies(*lonely[0], replicas, expected))
    elif expected is not None and one is not None and one != expected:
        problems.append(_other_size(found[0], one, expected))
    elif expected not in (None, 1) and one is None:
        cause = "the document does not say how many ranks it starts"
        where = found[0].task_path if found else _POOLS
        problems.append(
            RULES["world-size"].at(where, cause, f"world size {expected}", severity="unknown")
        )
    return problems


def _copies(pool: Pool, start: Start, replicas: int, expected: int | None) -> Problem:
    """Every replica starts a job of its own; what was meant, if anybody said so, is an error."""
    each = f"world size {start.ranks}" if start.ranks is not None else "its own ranks"
    gpus = pool.gpus or 1
    meant = expected if expected is not None else replicas * max(gpus, start.ranks or 1)
    severity: Severity = "warning" if expected is None else "error"
    return RULES["world-size"].at(
        pool.task_path,
        f"{start.text} on each of {replicas} replicas: {replicas} jobs of {each} that know nothing "
        "of each other, and the job succeeds when the primary replica's does",
        f"one job of world size {meant}",
        f"launch vertex --instances {replicas} --gpus {pool.gpus} starts one, without ssh",
        severity=severity,
    )


def _other_size(pool: Pool, one: int, expected: int) -> Problem:
    found = f"it starts a world size of {one}"
    return RULES["world-size"].at(pool.task_path, found, f"world size {expected}")


def _dropped(pool: Pool, start: Start) -> Problem:
    return RULES["exit-code"].at(pool.task_path, f"{start.text}: {start.dropped}")


def _gpus(pool: Pool, ranks: int, path: str) -> list[Problem]:
    gpus = pool.gpus
    if not gpus or ranks == gpus:
        return []
    found = f"{ranks} on a replica with {counted(gpus, 'GPU')}"
    if ranks > gpus:
        expected = f"at most {gpus}: one rank a GPU"
        return [RULES["ranks-above-gpus"].at(path, found, expected)]
    fix = f"{counted(gpus - ranks, 'GPU')} of each replica stay idle, and are paid for"
    return [RULES["ranks-below-gpus"].at(path, found, str(gpus), fix)]


def _number(pool: Pool, name: str) -> int | None:
    return whole_number(dict(pool.environment).get(name))

"""What the replicas of a CustomJob start: each by its command, and all of them together.

Source: Vertex AI's page on distributed training: a job of several replicas gets TF_CONFIG, and
MASTER_ADDR, RANK and WORLD_SIZE, which counts replicas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from launchers.core.analysis.plain_start.start import Start, launched_words, read_start
from launchers.core.analysis.plain_start.world import Hosts, World, world_of
from launchers.core.model.document import rank_count
from launchers.core.planning.plan import counted
from launchers.core.strategies import named, said_by
from launchers.vertex.document import words_of
from launchers.vertex.rules import partitions
from launchers.vertex.rules.image import is_reduction_server
from launchers.vertex.rules.pools import (
    PROCESSES,
    WORLD_SIZE,
    Pool,
    first_pool,
    pools,
    rank_pools,
    rank_replicas,
)
from launchers.vertex.rules.start import starts_agent

_TOLD = "the service tells them of each other by TF_CONFIG"
# Launchers whose ranks are Horovod's, or may be.
HOROVODS = ("horovodrun", "mpirun")


def world(document: object) -> World:
    """What all replicas of the job start together."""
    one = _world(document)
    cut = next((pool for pool in rank_pools(document) if partitions.are_its_own(pool)), None)
    if cut is None or one.started is None:
        return one
    own = (start for _, start in starts(document) if start.launcher not in HOROVODS)
    if any(start.each and start.each > 1 for start in own):
        # They may compute on CPUs, or take an instance each and speak by Gloo.
        return replace(one, started=None, because=partitions.crowded(cut, one.because))
    return replace(one, because=f"{one.because}; {partitions.seen(cut)}")


def _world(document: object) -> World:
    found = rank_pools(document)
    if not found:
        return World(None, "there is no pool that runs anything")
    if all(starts_agent(pool) for pool in found):
        first, *_ = found
        replicas, ranks = rank_replicas(document), number(first, PROCESSES)
        if replicas is None or ranks is None:
            return World(None, "the number of replicas or of processes on each is not said")
        because = f"our agent on {counted(replicas, 'replica')} x {counted(ranks, 'process')}"
        strategy, gpus = named(said_by(dict(first.environment))), first.gpus
        if strategy.one_a_host and gpus:
            because += f" with {counted(gpus, 'GPU')}"
        started = strategy.world_size(replicas, ranks, gpus)
        return World(started, because, spans=replicas > 1)
    return world_of(
        [Hosts(start, rank_count(pool.replicas), pool.gpus) for pool, start in starts(document)],
        "replica",
        _TOLD,
    )


def starts(document: object) -> list[tuple[Pool, Start]]:
    """Each pool that takes part, with what a replica of it starts. A pool beside the ranks, of
    parameter servers or evaluators, takes part where a launcher starts it."""
    return list(_starts(document))


def start_of(pool: Pool, replicas: int | None = None) -> Start:
    """What one replica of a pool starts by its command.

    Args:
        replicas: Of the whole job, as the service tells them by WORLD_SIZE; None where that is not
            known.
    """
    words = _words(pool)
    if "containerSpec" in pool.spec and not pool.words("command"):
        # The arguments alone stand behind it.
        return Start(unknown="the image's own entry point may start anything")
    if not words:
        return Start(unknown="no container, and no Python package with a module")
    variables = {"WORLD_SIZE": str(replicas)} if replicas and replicas > 1 else {}
    variables |= {name: value for name, value in pool.environment if "$(" not in value}
    start = read_start(words, pool.gpus, variables)
    if pool.partition and start != read_start(words, pool.whole_gpus, variables):
        return replace(start, each=None, ranks=None, unknown=partitions.uncounted(pool, start.text))
    return start


def meant_for_horovod(pool: Pool) -> bool:
    """Whether the pool's command starts Horovod's own launcher."""
    return start_of(pool).launcher == "horovodrun"


def program_of(document: object) -> tuple[str, ...]:
    """What each rank runs, a Python file or ``-m`` and a module, with its arguments: by our agent,
    or by a launcher of Horovod or MPI. Empty for anything else."""
    first = first_pool(document)
    if first is None:
        return ()
    if starts_agent(first):
        return tuple(words_of(first.words("args")))
    if start_of(first).launcher not in HOROVODS:
        return ()
    return tuple(launched_words(_words(first))[1:])


def plain_program_of(document: object) -> tuple[str, ...]:
    """The Python file, or ``-m`` and a module, that every replica runs without a launcher; empty
    where they differ or none is named."""
    found = {_plain_program(pool) for pool in rank_pools(document)}
    return found.pop() if len(found) == 1 else ()


def _plain_program(pool: Pool) -> tuple[str, ...]:
    words = launched_words(_words(pool))[1:]
    while words and words[0].startswith("-") and words[0] != "-m":
        words = words[1:]  # python -u train.py
    return tuple(words)


def _words(pool: Pool) -> list[str]:
    """The command of a replica with its arguments; of a Python package, its module run by Python
    with the arguments. Empty where nothing says it."""
    if "containerSpec" in pool.spec:
        return pool.words("command", "args")
    module = pool.task.get("pythonModule")
    return ["python", "-m", module, *pool.words("args")] if isinstance(module, str) else []


def carried_world_size(document: object) -> int | None:
    """LAUNCH_WORLD_SIZE of the first pool; None where it is missing or no number."""
    first = first_pool(document)
    return number(first, WORLD_SIZE) if first else None


def carried_strategy(document: object) -> str:
    """LAUNCH_STRATEGY of the first pool; empty where it is missing."""
    first = first_pool(document)
    return said_by(dict(first.environment)) if first else ""


def number(pool: Pool, name: str) -> int | None:
    """A variable of the pool that is a number of hosts or ranks; None for anything else."""
    return rank_count(dict(pool.environment).get(name))


def _starts(document: object) -> Iterator[tuple[Pool, Start]]:
    replicas = rank_replicas(document)
    for pool in pools(document):
        start = start_of(pool, replicas)
        beside = start.launcher and not is_reduction_server(pool)
        if pool.holds_ranks or beside:
            yield pool, start

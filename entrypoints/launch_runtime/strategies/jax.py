"""JAX's processes: one a host or one a GPU, joined by jax.distributed.initialize().

No variable tells JAX how many processes there are and which one it is, but those of Open MPI, Slurm
and the like. None of these started the ranks, so nothing pretends to be one: what a call of
``initialize()`` leaves open is filled in, the moment that it is made. Once it has returned all
processes are connected.

JAX compiles each step, and has no optimizers and no groups of its own. So what is seen is the
compiled program, see :mod:`launch_runtime.strategies.jax_programs`. Private modules of JAX, read in
0.10.2, run in that and 0.11.2; where they are not found, the rank ends as one that never joined, or
no exchange is seen.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from launch_runtime.evidence.finding import Finding
from launch_runtime.evidence.records import ALL, INIT, STRICT, Record, merged
from launch_runtime.host import network
from launch_runtime.rank import gpu_pinning, tracebacks
from launch_runtime.rank.import_hook import OnImport, when_imported
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.world_check import World, WorldCheck
from launch_runtime.stacks import Wait
from launch_runtime.strategies.jax_programs import reductions
from launch_runtime.strategies.strategy import SERVICES_OWN, Seat, Strategy
from launch_runtime.words import Words

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector

ADDRESS, COUNT, ID = NAMES = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")

WORDS = Words(
    product="JAX",
    join="jax.distributed.initialize()",
    leave="jax.distributed.shutdown()",
    never="rank {rank} ended without ever having called jax.distributed.initialize(): "
    "{size} independent copies ran, not one job",
    why_never="the script does not call it, or calls it in a process that was started with an "
    "environment of its own",
    fix_never="call `jax.distributed.initialize()` before anything else of JAX, and shard data and "
    "parameters over a Mesh of jax.devices()",
    not_used="jax.distributed not used",
    late="without it {size} independent copies run",
    inner="processes that the script starts itself, with a place of their own",
    fix_inner="call initialize() in the script itself, and let launch start the ranks",
    keep="leave JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID as they are",
    wrap="jit the step over a Mesh of jax.devices(), which are those of all processes",
    broadcast="make the start weights on a Mesh of jax.devices(), from the same seed",
    abort=" (JAX ends so where a peer is gone or never came)",
    abort_phases=("starting", "training"),
)

# What a process meets when another one has gone (jax 0.10.2, run).
_LOST_PEER = (
    "coordination service",
    "CoordinationService",
    "heartbeat",
    "Socket closed",
    "failed to connect to all addresses",
    "Gloo all-reduce failed",
    "Gloo collective",
)


def _table(collector: Collector) -> Mapping[str, OnImport]:
    def compiler(module: Any) -> None:
        original = module.compile_or_get_cached

        @functools.wraps(original)
        def compiled(*args: Any, **kwargs: Any) -> Any:
            program = original(*args, **kwargs)
            try:
                devices = kwargs["devices"] if "devices" in kwargs else args[2]
                _note(collector, program, [device.process_index for device in devices.flatten()])
            except Exception as error:  # another version of JAX
                collector.give_up(error)
            return program

        module.compile_or_get_cached = compiled

    return {"jax._src.compiler": compiler}


def _note(collector: Collector, program: Any, processes: Sequence[int]) -> None:
    if len(set(processes)) < 2:
        return
    for part in program.hlo_modules():
        for elements, groups in reductions(part.to_string(), len(processes)):
            for group in groups:
                ranks = sorted({processes[device] for device in group})
                if len(ranks) > 1:
                    everywhere = str(len(ranks)) == os.environ.get("LAUNCH_WORLD_SIZE", "")
                    over: Any = ALL if everywhere else ranks
                    collector.exchanged(None, [elements], over, is_traced=True)


class Jax(Strategy):
    """See the module."""

    name = "jax"
    words = WORDS
    taken_out = (*SERVICES_OWN, *NAMES)
    watched = NAMES
    place_names = (COUNT, ID)
    tables = (_table,)
    waits = (
        Wait("/jax/_src/distributed.py"),
        # Where a script waits for a value that a step computes, its exchanges among it.
        Wait("/jax/_src/array.py"),
        Wait("/jax/_src/api.py", ("block_until_ready",)),
        Wait("/jax/experimental/multihost_utils.py"),
    )

    def variables(self, seat: Seat) -> Mapping[str, str]:
        first = seat.contacts[0]
        return {
            ADDRESS: f"{first.address}:{first.port}",
            COUNT: str(seat.size),
            ID: str(seat.rank),
        }

    def trouble(self, others_elsewhere: bool) -> str:
        # Its Gloo is met by the machine's own name.
        return network.trouble_with_own_name(others_elsewhere)

    def watch(self, check: WorldCheck) -> None:
        moment = Moment(check)
        when_imported({"jax._src.distributed": moment.distributed})

    def is_consequence(self, error: BaseException) -> bool:
        return tracebacks.names_peer(error) or any(word in str(error) for word in _LOST_PEER)

    def judge(
        self, evidence: Mapping[int, Sequence[Record]], ranks: int, world_size: int, mode: str
    ) -> Finding:
        """What compiled programs show; where they show nothing, that is said, and is a failure only
        where every rank's evidence was asked for: a rank may exchange by other ways."""
        if mode == INIT or ranks < 2:
            return Finding("")
        found = {rank: merged(evidence.get(rank) or ()) for rank in range(ranks)}
        missing = tuple(rank for rank, one in found.items() if not one.final)
        over = [group for one in found.values() for group, _ in one.other]
        without = [rank for rank, one in found.items() if not one.other]
        if over and _connect(over, ranks) and (mode != STRICT or not without):
            return Finding("values reduced between all ranks by compiled programs", missing=missing)
        words = "no compiled program was seen that reduces values between all ranks"
        if mode == STRICT:
            return Finding(words, f"{words}, and --proof strict asks for it", WORDS.wrap, missing)
        return Finding(words, missing=missing)


def _connect(groups: Sequence[Any], ranks: int) -> bool:
    """Whether groups that have ranks in common reach from each rank to all others."""
    if ALL in groups:
        return True
    reached = {0}
    for _ in groups:
        reached = reached.union(*(group for group in groups if reached.intersection(group)))
    return len(reached) == ranks


class Moment:
    """The watchers around ``State.initialize`` and ``State.shutdown``, by which all calls go.

    Args:
        check: Judges what they see.
    """

    def __init__(self, check: WorldCheck):
        self._check = check

    def distributed(self, module: Any) -> None:
        """``jax._src.distributed``."""
        state = module.State
        initialize, shutdown = state.initialize, state.shutdown
        signature = inspect.signature(initialize)
        check, fill = self._check, self._fill

        @functools.wraps(initialize)
        def joined(own: Any, *args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(own, *args, **kwargs)
            check.before()
            fill(signature, bound.arguments)
            result = initialize(*bound.args, **bound.kwargs)
            world = World(own.num_processes, own.process_id)
            check.joined(world, _carrier, lambda: ("JAX did not take the place it was given", ""))
            return result

        @functools.wraps(shutdown)
        def left(own: Any, *args: Any, **kwargs: Any) -> Any:
            if own.client is not None:
                check.leaving()
            return shutdown(own, *args, **kwargs)

        state.initialize, state.shutdown = joined, left

    def _fill(self, signature: inspect.Signature, arguments: dict[str, Any]) -> None:
        """Gives what the script has left open; refuses another number of processes, or place, for
        which JAX would wait five minutes in vain."""
        given, place = self._check.given, self._check.given.place
        own = {
            "coordinator_address": given.variables.get(ADDRESS),
            "num_processes": given.promise.size,
            "process_id": place.rank,
            # Else Slurm or Kubernetes, in which this machine may stand, would be asked too.
            "cluster_detection_method": "deactivate",
        }
        told = {
            name: arguments[name]
            for name in ("num_processes", "process_id")
            if arguments.get(name) is not None and arguments[name] != own[name]
        }
        if told:
            words = " and ".join(f"{name}={value!r:.40}" for name, value in told.items())
            self._check.end(
                RefusalError(
                    f"world size {given.promise.size}, rank {place.rank}",
                    f"{words} in the call of {WORDS.join}",
                    "the script counts its processes itself",
                    "leave these arguments out, or take them from JAX_NUM_PROCESSES and "
                    "JAX_PROCESS_ID",
                )
            )
        for name, value in own.items():
            if name in signature.parameters and arguments.get(name) is None:
                arguments[name] = value


def _carrier() -> str:
    """What carries values between processes: NCCL where a rank has GPUs, else what JAX's CPU
    backend is set to."""
    if gpu_pinning.rank_sees_devices():
        return "NCCL"
    config = getattr(sys.modules.get("jax"), "config", None)
    name = str(getattr(config, "jax_cpu_collectives_implementation", None) or "none")
    return {"gloo": "Gloo", "mpi": "MPI", "none": "gRPC"}.get(name, name)


STRATEGY = Jax()

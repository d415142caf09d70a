"""Horovod: ranks that agent, mpirun or horovodrun start, and that meet in ``hvd.init()``."""

from __future__ import annotations

import os
from typing import Any, Mapping, MutableMapping, Sequence

from launch_runtime import horovod_names, words
from launch_runtime.host import network
from launch_runtime.rank import gpu_pinning, horovod_hook, identity
from launch_runtime.rank.exchange import (
    horovod_hooks,
    horovod_torch_hooks,
    sample_hooks,
    tensorflow_hooks,
)
from launch_runtime.rank.identity import MPIRUN, PLACE_VARIABLES, WATCHED_VARIABLES, Place
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.world_check import World, WorldCheck
from launch_runtime.stacks import Wait
from launch_runtime.strategies.strategy import Seat, Strategy


class Horovod(Strategy):
    """See the module."""

    name = "horovod"
    words = words.HOROVOD
    wants_port = False  # its ranks meet through keys, for which the agents answer
    settles_keras = True
    watched = WATCHED_VARIABLES
    place_names = PLACE_VARIABLES
    tables = (
        tensorflow_hooks.table,
        horovod_torch_hooks.table,
        horovod_hooks.table,
        sample_hooks.tensorflow,
        sample_hooks.torch,
    )
    waits = (
        Wait("/horovod/"),
        Wait("/torch/autograd/", ("backward", "_engine_run_backward")),
        # A step that TensorFlow runs, its exchanges among it.
        Wait("/tensorflow/python/eager/", ("quick_execute", "call_function")),
    )

    def variables(self, seat: Seat) -> Mapping[str, str]:
        given = {
            "HOROVOD_RANK": seat.rank,
            "HOROVOD_SIZE": seat.size,
            "HOROVOD_LOCAL_RANK": seat.local_rank,
            "HOROVOD_LOCAL_SIZE": seat.processes,
            "HOROVOD_CROSS_RANK": seat.position,
            "HOROVOD_CROSS_SIZE": seat.hosts,
            # Without it the ranks of all hosts meet in one scope and abort.
            "HOROVOD_HOSTNAME": seat.host,
            "HOROVOD_GLOO_RENDEZVOUS_ADDR": seat.keys.address,
            "HOROVOD_GLOO_RENDEZVOUS_PORT": seat.keys.port,
            # Without it a Horovod that was built with MPI starts every process as rank 0 of 1.
            "HOROVOD_CONTROLLER": "gloo",
            "HOROVOD_CPU_OPERATIONS": "gloo",
        }
        return {name: str(value) for name, value in given.items()}

    def defaults(self, seat: Seat, environment: Mapping[str, str]) -> Mapping[str, str]:
        # Gloo would else take the interface of this machine's own name, which is a loopback
        # address on many systems.
        if not seat.interface:
            return {}
        named = [horovod_names.INTERFACE, *(["NCCL_SOCKET_IFNAME"] if seat.several else [])]
        return dict.fromkeys(named, seat.interface)

    def trouble(self, others_elsewhere: bool) -> str:
        return network.trouble_with_own_name(others_elsewhere)

    def place(self, environment: Mapping[str, str], has_agent: bool) -> Place:
        return identity.given(environment, has_agent)

    def prepare(self, environment: MutableMapping[str, str], place: Place) -> None:
        if place.by == MPIRUN:
            environment.setdefault("HOROVOD_CONTROLLER", "mpi")
            environment.setdefault("HOROVOD_CPU_OPERATIONS", "mpi")

    def watch(self, check: WorldCheck) -> None:
        moment = Moment(check)
        horovod_hook.install(moment.before, moment.after, moment.leaving)


class Moment:
    """The watchers around ``hvd.init()`` and ``hvd.shutdown()``.

    Args:
        check: Judges what they see.
    """

    def __init__(self, check: WorldCheck):
        self._check = check

    def before(self, basics: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Refuses what cannot come out right; warns of what the script has changed."""
        self._check.refuse_inner()
        self._refuse_without_controller(basics)
        self._check.tell_changes()

    def after(self, basics: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Compares size and ranks with what they must be; ends the process where they differ."""
        if not basics.is_initialized():
            return  # Horovod was shutting down and said so
        found = (basics.size(), basics.rank(), basics.local_size(), basics.local_rank())
        self._check.joined(
            World(*found), lambda: _carried_by(basics), lambda: self._why(args, kwargs)
        )

    def leaving(self, basics: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """``hvd.shutdown()`` is about to run."""
        if self._check.is_watched and basics.is_initialized():
            self._check.leaving()

    def _why(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, str]:
        """Likely cause and fix of a world that is not the promised one."""
        comm = args[0] if args else kwargs.get("comm")
        if comm is not None:
            return (
                f"hvd.init() was called with comm={comm!r:.80}, a part of the ranks",
                "call hvd.init() without comm; process sets are for parts of the ranks",
            )
        if self._check.given.place.by == MPIRUN:
            return "Horovod was built with another MPI than the mpirun that started the ranks", ""
        return "Horovod did not take the place that it was given", ""

    def _refuse_without_controller(self, basics: Any) -> None:
        """A Horovod that lacks the chosen controller starts every process alone, or crashes."""
        chosen = os.environ.get("HOROVOD_CONTROLLER", "").lower()
        built = {"mpi": basics.mpi_built, "gloo": basics.gloo_built}.get(chosen)
        if built is None or built():
            return
        name = {"mpi": "MPI", "gloo": "Gloo"}[chosen]
        given = self._check.given
        self._check.end(
            RefusalError(
                str(given.promise),
                f"a Horovod that was built without {name}, in which every process is rank 0 of 1",
                f"{given.place.by} started the ranks, and Horovod needs {name} for that",
                f"build Horovod with HOROVOD_WITH_{name.upper()}=1",
            )
        )


def carried_by(basics: Any, gpus: bool) -> str:
    """What carries gradients between ranks: NCCL where Horovod has it and the ranks have GPUs, else
    its controller, MPI or Gloo."""
    built = getattr(basics, "nccl_built", None)
    if gpus and built is not None and built():
        return "NCCL"
    return "MPI" if basics.mpi_enabled() else "Gloo"


def _carried_by(basics: Any) -> str:
    return carried_by(basics, gpu_pinning.rank_sees_devices())


STRATEGY = Horovod()

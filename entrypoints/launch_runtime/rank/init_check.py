"""Asserts, the moment ``hvd.init()`` returns, that Horovod made the right job of the ranks."""

from __future__ import annotations

import glob
import os
import sys
from typing import Any, Mapping, NamedTuple, NoReturn, Sequence

from launch_runtime import lines
from launch_runtime.rank import exit_hook, gpu_pinning, horovod_hook
from launch_runtime.rank.identity import (
    AGENT,
    MPIRUN,
    PLACE_VARIABLES,
    WATCHED_VARIABLES,
    Place,
    Promise,
)
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.reporter import Reporter
from launch_runtime.rank.training_watch import TrainingWatch


class Given(NamedTuple):
    """All that a process of the rank has to know to judge an ``hvd.init()``.

    Attributes:
        promise: What the job definition says.
        place: What the rank was given.
        variables: Those of Horovod that say it, as they stood before the script ran.
        guard: The process id of the guard.
    """

    promise: Promise
    place: Place
    variables: Mapping[str, str]
    guard: int


class InitCheck:
    """The two watchers around ``hvd.init()``.

    Args:
        given: What must come out.
        reporter: Says what came out.
    """

    def __init__(self, given: Given, reporter: Reporter):
        self._given, self._reporter = given, reporter

    def before(self, basics: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Refuses what cannot come out right; warns of what the script has changed."""
        if self._in_child() and self._has_another_place():
            self._end(
                RefusalError(
                    str(self._given.promise),
                    "ranks of a launcher inside the script (horovod.run, horovodrun or mpirun)",
                    "the script starts ranks of its own in every rank of this job",
                    "call hvd.init() in the script itself, and let launch start the ranks",
                )
            )
        self._refuse_without_controller(basics)
        changed = self._changed()
        if changed:
            self._reporter.line(lines.warning(f"before hvd.init(), {self._what(changed)}"))

    def after(self, basics: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Compares size and ranks with what they must be; ends the process where they differ."""
        if not basics.is_initialized():
            return  # Horovod was shutting down and said so
        place = self._given.place
        expected = (self._given.promise.size, place.rank, place.local_size, place.local_rank)
        found = (basics.size(), basics.rank(), basics.local_size(), basics.local_rank())
        if found != expected:
            cause, fix = self._why(args, kwargs)
            form = "world size {}, rank {}, local size {}, local rank {}"
            self._end(
                RefusalError(
                    form.format(*expected),
                    form.format(*found) + " when hvd.init() returned",
                    cause,
                    fix,
                )
            )
        if not self._reporter.initialised and place.rank == 0:
            hosts = self._given.promise.hosts or found[0] // found[2]
            gpus = gpu_pinning.sees_devices(os.environ, glob.glob("/dev/nvidia[0-9]*"))
            carrier = carried_by(basics, gpus)
            self._reporter.proof(lines.world(found[0], hosts, found[2], carrier))
        self._reporter.note_initialised()

    def end(self, refusal: RefusalError) -> None:
        """Ends the rank for what another watcher has found."""
        self._end(refusal)

    def _why(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, str]:
        """Likely cause and fix of a world that is not the promised one."""
        changed = self._changed()
        if changed:
            return self._what(changed), "leave the HOROVOD_* variables as the script finds them"
        comm = args[0] if args else kwargs.get("comm")
        if comm is not None:
            return (
                f"hvd.init() was called with comm={comm!r:.80}, a part of the ranks",
                "call hvd.init() without comm; process sets are for parts of the ranks",
            )
        if self._given.place.by == MPIRUN:
            return "Horovod was built with another MPI than the mpirun that started the ranks", ""
        return "Horovod did not take the place that it was given", ""

    def _refuse_without_controller(self, basics: Any) -> None:
        """A Horovod that lacks the chosen controller starts every process alone, or crashes."""
        chosen = os.environ.get("HOROVOD_CONTROLLER", "").lower()
        built = {"mpi": basics.mpi_built, "gloo": basics.gloo_built}.get(chosen)
        if built is None or built():
            return
        name = {"mpi": "MPI", "gloo": "Gloo"}[chosen]
        self._end(
            RefusalError(
                str(self._given.promise),
                f"a Horovod that was built without {name}, in which every process is rank 0 of 1",
                f"{self._given.place.by} started the ranks, and Horovod needs {name} for that",
                f"build Horovod with HOROVOD_WITH_{name.upper()}=1",
            )
        )

    def _changed(self) -> list[str]:
        """The given variables that the script has changed or taken away."""
        given = self._given.variables
        return [name for name, value in given.items() if os.environ.get(name) != value]

    def _what(self, changed: list[str]) -> str:
        gone = [name for name in changed if name not in os.environ]
        other = [name for name in changed if name in os.environ]
        parts = []
        if gone:
            parts.append(f"the script has removed {lines.and_list(gone)}")
        for name in other:
            change = f"{name} from {self._given.variables[name]} to {os.environ[name]}"
            parts.append("the script has changed " + change)
        return "; ".join(parts)

    def _has_another_place(self) -> bool:
        """Whether somebody has made this process a rank of something else."""
        return any(
            os.environ.get(name, self._given.variables.get(name)) != self._given.variables.get(name)
            for name in PLACE_VARIABLES
        )

    def _in_child(self) -> bool:
        return os.getpid() != self._given.guard

    def _end(self, refusal: RefusalError) -> NoReturn:
        """Ends the rank with code 1 at once, whatever the script would catch."""
        if self._in_child():
            self._reporter.refuse_in_child(refusal, self._given.place.by == AGENT)
            end_guard(self._given.guard)
        else:
            self._reporter.refuse(refusal)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue
        exit_hook.at_once(1)


def watch(given: Given, reporter: Reporter, training: TrainingWatch) -> InitCheck:
    """From now on every ``hvd.init()`` and ``hvd.shutdown()`` of this process is noticed."""
    check = InitCheck(given, reporter)

    def after(basics: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        check.after(basics, args, kwargs)
        training.initialised(basics, args, kwargs)

    horovod_hook.install(check.before, after, training.shutting_down)
    return check


def carried_by(basics: Any, gpus: bool) -> str:
    """What carries gradients between ranks: NCCL where Horovod has it and the ranks have GPUs, else
    its controller, MPI or Gloo."""
    built = getattr(basics, "nccl_built", None)
    if gpus and built is not None and built():
        return "NCCL"
    return "MPI" if basics.mpi_enabled() else "Gloo"


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Horovod's variables about the rank's place, as they stand now."""
    return {name: environment[name] for name in WATCHED_VARIABLES if name in environment}


def end_guard(guard: int) -> None:
    """Kills the guard above this process, so that a refused child ends its whole rank."""
    process = os.getppid()
    while process > 1:
        if process == guard:
            os.kill(guard, 9)
            return
        try:
            with open(f"/proc/{process}/stat", "rb") as file:
                process = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return

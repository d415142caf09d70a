"""Counts what a rank does beside printing lines, in a thread of the guard: exchanges, steps and
imports.

Nothing is called in the training itself. PyTorch's process groups count their collectives in C++;
an optimizer's steps are read as the collector of evidence reads them. Counts that stand still say
little alone: the agent knows the rank's lines, and the first host all ranks. Where there is no
agent (mpirun), a rank whose steps or exchanges stand still prints its own stacks, and nobody is
named.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import sys
import tempfile
import threading
import time
import weakref
from typing import Any, Callable, Mapping, Sequence

from launch_runtime import environment as env
from launch_runtime import lines, stacks
from launch_runtime.rank.import_hook import when_imported
from launch_runtime.rank.reporter import Reporter

VARIABLE = "LAUNCH_HANG_AFTER"
EXCHANGES, STEPS, OTHERS, BATCHES = "exchanges", "steps", "others", "batches"
_LEAST, _MOST = 0.1, 10.0  # seconds between two looks
_TORCH = "torch.distributed.distributed_c10d"
# Where Keras 2 has its Model: tf-keras, and the Keras of TensorFlow 2.13 to 2.15, 2.6 to 2.12.
_KERAS = ("tf_keras.src.engine.training", "keras.src.engine.training", "keras.engine.training")
_COUNTERS = ("_train_counter", "_test_counter", "_predict_counter")

Counts = Callable[[], Mapping[str, int]]


def watch(environment: Mapping[str, str], reporter: Reporter, steps: Counts) -> None:
    """From now on tells of every change, where the job asks for that.

    Args:
        environment: The guard's.
        reporter: The guard's.
        steps: What the collector of evidence counts.

    Raises:
        environment.SettingError: LAUNCH_HANG_AFTER is no time.
    """
    after = env.seconds(environment, VARIABLE, 0.0)
    if after:
        batches = Batches()
        when_imported(dict.fromkeys(_KERAS, batches.watch))
        tell = reporter.progress if reporter.has_agent else Alone(reporter, after).look
        pause = min(_MOST, max(_LEAST, after / 10))
        threading.Thread(
            target=_count, args=(tell, (steps, exchanges, batches.counts), pause), daemon=True
        ).start()


def _count(
    tell: Callable[[Mapping[str, int]], None], kinds: Sequence[Counts], pause: float
) -> None:
    never = threading.Event()
    while not never.wait(pause):
        counts = {"modules": len(sys.modules)}  # a framework's import takes a while
        for kind in kinds:
            counts.update(_quietly(kind))
        tell(counts)


def _quietly(count: Counts) -> Mapping[str, int]:
    try:
        return count()
    except Exception:  # names that another version of a framework doesn't have
        return {}


def exchanges() -> dict[str, int]:
    """The collectives of PyTorch's process groups in this process: ``exchanges`` of the group of
    all ranks, ``others`` of all other groups; nothing where none is counted."""
    module: Any = sys.modules.get(_TORCH)
    if module is None:
        return {}
    world = getattr(module, "_world", None)
    groups = getattr(world, "pg_map", None) if world is not None else None
    if groups is None:
        groups = getattr(module, "_pg_map", {})
    counts: dict[str, int] = {}
    for group in list(groups):
        name = EXCHANGES if group is module.GroupMember.WORLD else OTHERS
        try:
            counts[name] = counts.get(name, 0) + int(group._get_sequence_number_for_group())
        except Exception:  # a carrier that doesn't count
            continue
    return counts


class Batches:
    """The batches that models of Keras 2 have seen in fit(), evaluate() and predict(), as Keras
    counts them itself: also in a job of one rank, and without the hooks of the proof. Nothing is
    added to a step."""

    def __init__(self) -> None:
        self._models: weakref.WeakSet[Any] = weakref.WeakSet()

    def watch(self, module: Any) -> None:
        """``module`` has Keras' Model."""
        model: Any = getattr(module, "Model", None)
        original = getattr(model, "_init_batch_counters", None)
        if original is None:
            return
        models = self._models

        @functools.wraps(original)
        def made(own: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(own, *args, **kwargs)
            with contextlib.suppress(Exception):  # a model of a kind that has no number
                models.add(own)
            return result

        model._init_batch_counters = made

    def counts(self) -> dict[str, int]:
        """All of them together, from any thread; nothing before the first."""
        counted = 0
        for model in list(self._models):
            for name in _COUNTERS:
                counter = getattr(model, name, None)
                # Where several replicas hold it, the first one's is this process's own.
                counter = (getattr(counter, "_values", None) or (counter,))[0]
                if counter is not None:
                    counted += int(counter.numpy())
        return {BATCHES: counted} if counted else {}


class Alone:
    """Speaks for a rank without an agent, once for each time that it stands still.

    Args:
        reporter: The guard's.
        after: Seconds without progress.
        now: Monotonic seconds.
    """

    def __init__(self, reporter: Reporter, after: float, now: Callable[[], float] = time.monotonic):
        self._reporter, self._after, self._now = reporter, after, now
        self._counts: dict[str, int] = {}
        self._since, self._told = now(), False

    def look(self, counts: Mapping[str, int]) -> None:
        """Takes the newest counts."""
        if dict(counts) != self._counts:
            self._counts, self._since, self._told = dict(counts), self._now(), False
        known = [name for name in (STEPS, EXCHANGES, BATCHES) if counts.get(name)]
        if self._told or not known or self._now() - self._since < self._after:
            return
        self._told = True
        where = lines.warning(
            f"rank {self._reporter.rank} has made no step and no exchange for {self._after:g} s; "
            "its lines are not looked at here, and the job goes on"
        )
        self._reporter.say([where, *(lines.PREFIX + line for line in own_stacks())])


def own_stacks() -> list[str]:
    """This process's stacks, in lines for people."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file=file, all_threads=True)
        file.seek(0)
        return stacks.shown(stacks.read(file.read().decode("utf-8", "replace")))

"""The slots of a Spark application: how many ranks its executors can run at the same time.

Spark starts as many tasks as there are slots and lets the others wait: ``horovod.spark.run`` would
hold the first ranks until its own time is up, a barrier stage ask again for minutes. So the slots
are counted before anything is started.
"""

from __future__ import annotations

import math
import re
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Sequence

from launch_runtime import lines

if TYPE_CHECKING:
    from launch_runtime.spark.settings import SparkJob

POLL_SECONDS = 0.2
GPU = "gpu"  # the resource's name, as Spark's conf keys have it
_MOST_NAMED = 4
_RESOURCE = re.compile(r"spark\.task\.resource\.([^.]+)\.amount")


_NOTHING: Mapping[str, int] = MappingProxyType({})


class Executor(NamedTuple):
    """One of the application's executors.

    Attributes:
        name: Its id; ``driver`` where the driver is its own executor.
        host: As the cluster manager knows it.
        cores: That Spark gives it.
        gpus: Of Spark's resource ``gpu``.
        slots: Tasks that it can run at the same time.
        others: Of the other resources that tasks ask for, how many it has, by name.
    """

    name: str
    host: str
    cores: int
    gpus: int
    slots: int
    others: Mapping[str, int] = _NOTHING


class Slots(NamedTuple):
    """What was found.

    Attributes:
        found: Slots that ranks can use.
        wanted: Ranks of the job.
        executors: That are there, by name.
        problem: Why the job cannot start, or "".
        fix: What to change then.
    """

    found: int
    wanted: int
    executors: Sequence[Executor] = ()
    problem: str = ""
    fix: str = ""

    def fields(self) -> dict[str, int]:
        """For the result file."""
        return {"found": self.found, "wanted": self.wanted}


class Task(NamedTuple):
    """What one task takes of its executor: ``spark.task.cpus``, ``spark.task.resource.gpu.amount``;
    0.0 GPUs where tasks ask for none. ``others`` are what a cluster's spark-defaults.conf may have
    them ask for besides, by name."""

    cpus: int = 1
    gpus: float = 0.0
    others: Mapping[str, float] = _NOTHING

    def fitting(self, cores: int, gpus: int, others: Mapping[str, int] = _NOTHING) -> int:
        """How many of them an executor runs at the same time."""
        wanted = [(self.gpus, gpus)] if self.gpus > 0 else []
        wanted += [(each, others.get(name, 0)) for name, each in self.others.items()]
        return min([cores // max(1, self.cpus), *(_sharing(*one) for one in wanted)])


def _sharing(each: float, count: int) -> int:
    """How many tasks get ``each`` of ``count``. Below 1 it is a share: Spark lets so many tasks
    have one (TaskResourceRequest)."""
    return count // math.ceil(each) if each >= 1 else count * int(1 / each)


def await_slots(session: Any, job: SparkJob, say: Callable[[str], None]) -> Slots:
    """Waits until the job's ranks have a slot each; blocks, ``job.slots_seconds`` at most.

    Args:
        session: Spark's.
        job: How many executors and ranks it wants.
        say: Is told at once what is waited for, and again when that changes or after a while.

    Returns:
        What is there, with a problem where it is not enough.
    """
    context = session.sparkContext
    task = _task(context)  # once: it asks the JVM for each property
    return _Waiting(job, task, is_alone(context.master), say).run(
        lambda: executors_of(context, task), lambda: bool(context._jsc.sc().isStopped())
    )


def is_alone(master: str) -> bool:
    """Whether the driver is its own executor, as in ``local[4]``: nothing comes to it later."""
    return re.match(r"local(\[|$)", master) is not None


def executors_of(context: Any, task: Task) -> list[Executor]:
    """The executors that have registered, by name, as Spark's own status store has them (what its
    ``/api/v1/applications/ID/executors`` gives, with or without its web pages)."""
    alone = is_alone(context.master)
    listed = context._jsc.sc().statusStore().executorList(True)
    found = []
    for number in range(listed.size()):
        one = listed.apply(number)
        if (one.id() == "driver") is not alone:
            continue
        gpus = _count(one, GPU)
        others = {name: _count(one, name) for name in task.others}
        host, cores = one.hostPort().rpartition(":")[0] or one.hostPort(), one.totalCores()
        slots = task.fitting(cores, gpus, others)
        found.append(Executor(one.id(), host, cores, gpus, slots, others))
    return sorted(found, key=lambda one: (len(one.name), one.name))


def _count(executor: Any, resource: str) -> int:
    known = executor.resources().get(resource)
    return len(known.get().addresses()) if known.isDefined() else 0


def _task(context: Any) -> Task:
    cpus = 1
    amounts: dict[str, float] = {}
    for key, value in context.getConf().getAll():
        resource = _RESOURCE.fullmatch(key)
        if key == "spark.task.cpus":
            cpus = int(value)
        elif resource and float(value) > 0:  # Spark takes 0 for none
            amounts[resource[1]] = float(value)
    return Task(cpus, amounts.pop(GPU, 0.0), amounts)


class _Waiting:
    """One wait for executors.

    Args:
        job: See :func:`await_slots`.
        task: What a rank takes.
        alone: No executor will come.
        say: See :func:`await_slots`.
    """

    def __init__(self, job: SparkJob, task: Task, alone: bool, say: Callable[[str], None]):
        self._instances, self._processes = job.settings.instances or 1, job.settings.processes
        self._wanted = self._instances * self._processes
        self._seconds, self._reminder = job.slots_seconds, job.settings.reminder
        self._task, self._alone, self._say = task, alone, say

    def run(self, look: Callable[[], list[Executor]], is_stopped: Callable[[], bool]) -> Slots:
        """See :func:`await_slots`."""
        start = time.monotonic()
        said, said_at = "", start
        while True:
            if is_stopped():
                return Slots(
                    0,
                    self._wanted,
                    problem="Spark has ended the application while executors were waited for",
                    fix="see the master's own log: it has refused the application or lost it",
                )
            executors = look()
            found = self._usable(executors)
            if found >= self._wanted:
                return Slots(found, self._wanted, executors)
            now = time.monotonic()
            if self._alone or now - start >= self._seconds:
                return self._given_up(found, executors)
            text = self._found(found, executors)
            if text != said or now - said_at >= self._reminder:
                left = max(0.0, self._seconds - (now - start))
                self._say(f"waiting for {self._wanting()}: {text}; up to {left:.0f} s more")
                said, said_at = text, now
            time.sleep(POLL_SECONDS)

    def _usable(self, executors: Sequence[Executor]) -> int:
        """An executor holds whole instances: --processes ranks, twice as many, and so on."""
        return sum(one.slots // self._processes for one in executors) * self._processes

    def _wanting(self) -> str:
        """What the job asks for."""
        parts = [lines.count(self._instances, "executor"), lines.count(self._processes, "rank")]
        return f"{lines.count(self._wanted, 'slot')} ({' x '.join(parts)})"

    def _found(self, found: int, executors: Sequence[Executor]) -> str:
        if not executors:
            return "no executor yet"
        few = [one for one in executors if one.slots < self._processes]
        enough = [one for one in executors if one.slots >= self._processes]
        parts = [f"{found} on {_named(enough)}"] if enough else []
        return "; ".join([*parts, *([self._why_unusable(few)] if few else [])])

    def _why_unusable(self, few: Sequence[Executor]) -> str:
        """Why no rank can use the slots of these."""
        needs = lines.count(self._processes * self._task.cpus, "core")
        if self._task.gpus > 0:
            needs += f" and {lines.count(math.ceil(self._processes * self._task.gpus), 'GPU')}"
        for name, each in self._task.others.items():
            needs += f" and {math.ceil(self._processes * each)} {name}"
        ranks = lines.count(self._processes, "rank")
        return f"none on {_named(few)}: the {ranks} of an instance need {needs}"

    def _given_up(self, found: int, executors: Sequence[Executor]) -> Slots:
        after = "" if self._alone else f" after {self._seconds:g} s"
        text = self._found(found, executors) if executors else "no executor has registered"
        return Slots(
            found,
            self._wanted,
            executors,
            f"{found} of {self._wanting()} are there{after}: {text}",
            self._fix(executors),
        )

    def _fix(self, executors: Sequence[Executor]) -> str:
        larger = self._fix_of_size(executors)
        if not self._task.others:
            return larger
        without = [f"--conf spark.task.resource.{name}.amount=0" for name in self._task.others]
        return (
            f"{' '.join(without)} if a rank needs none, as the cluster's spark-defaults.conf has "
            f"it; else {larger}"
        )

    def _fix_of_size(self, executors: Sequence[Executor]) -> str:
        ranks = self._processes
        if self._alone:
            return (
                f"give the master {self._wanted * self._task.cpus} threads, "
                f"--master 'local[{self._wanted * self._task.cpus}]', or ask for fewer --processes"
            )
        needs = lines.count(ranks * self._task.cpus, "free core")
        if self._task.gpus > 0:
            needs += f", {lines.count(math.ceil(ranks * self._task.gpus), 'free GPU')}"
        worker = f"{needs} and the executor's memory on a worker"
        if not executors:
            return (
                f"an executor needs {worker}: see the master's page for what it offers; or wait "
                "longer: --limit slots=TIME"
            )
        return (
            f"add workers (each executor needs {worker}), ask for fewer --instances or "
            "--processes, or wait longer: --limit slots=TIME"
        )


def _named(executors: Sequence[Executor]) -> str:
    """For people: which these are, and what each has."""
    words = [_words(one) for one in executors[:_MOST_NAMED]]
    if len(executors) > _MOST_NAMED:
        words.append(f"{len(executors) - _MOST_NAMED} more")
    return lines.and_list(words)


def _words(one: Executor) -> str:
    has = lines.count(one.cores, "core")
    if one.gpus:
        has += f", {lines.count(one.gpus, 'GPU')}"
    has += "".join(f", {count} {name}" for name, count in one.others.items() if count)
    where = f"executor {one.name} on {one.host}" if one.name != "driver" else "this machine"
    return f"{where} ({has})"

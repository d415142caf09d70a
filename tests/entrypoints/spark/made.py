"""What the tests of the driver's parts make: a job, and a Spark that is asked for its executors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any


def job(instances: int = 2, processes: int = 1, strategy: str = "horovod", **own: Any) -> Any:
    """As ``launch_runtime.spark.settings`` gives it, as far as these parts read it."""
    settings = SimpleNamespace(
        instances=instances,
        processes=processes,
        ranks=instances * processes,
        reminder=own.pop("reminder", 1000.0),
        strategy=SimpleNamespace(name=strategy),
    )
    given = {"slots_seconds": 300.0, "environment": {}, "executable": "", "folders": ["here"]}
    return SimpleNamespace(settings=settings, **{**given, **own})


class Listed:
    """A sequence of Scala's, as py4j shows it."""

    def __init__(self, items: list[Any]):
        self._items = items

    def size(self) -> int:
        return len(self._items)

    def apply(self, number: int) -> Any:
        return self._items[number]


def option(value: Any) -> Any:
    """An Option of Scala's, as py4j shows it; None for its None."""
    return SimpleNamespace(isDefined=lambda: value is not None, get=lambda: value)


def executor(
    name: str, cores: int, gpus: int | None = None, host: str = "host", **others: int
) -> Any:
    """An ExecutorSummary of Spark's status store."""
    counts = {"gpu": gpus, **others}

    def resource(name: str) -> Any:
        count = counts.get(name)
        addresses = [str(number) for number in range(count or 0)]
        return option(None if count is None else SimpleNamespace(addresses=lambda: addresses))

    return SimpleNamespace(
        id=lambda: name,
        hostPort=lambda: f"{host}-{name}:4711",
        totalCores=lambda: cores,
        resources=lambda: SimpleNamespace(get=resource),
    )


def session(
    *moments: list[Any],
    master: str = "spark://h:7077",
    ends: bool = False,
    conf: Mapping[str, str] = MappingProxyType({}),
    attempt: str | None = None,
) -> Any:
    """A session whose executors are those of the next moment each time one asks, and then those
    of the last; ``ends``: Spark ends the application instead of a second look; ``attempt``: which
    one of the application, where the cluster has any."""
    looks = iter(moments)
    state = SimpleNamespace(last=[], looks=0)

    def listed(_: bool) -> Listed:
        state.looks += 1
        state.last = next(looks, state.last)
        return Listed(state.last)

    store = SimpleNamespace(executorList=listed)
    scala = SimpleNamespace(
        statusStore=lambda: store,
        isStopped=lambda: ends and state.looks > 0,
        applicationAttemptId=lambda: option(attempt),
    )
    context = SimpleNamespace(
        master=master,
        _jsc=SimpleNamespace(sc=lambda: scala),
        getConf=lambda: SimpleNamespace(get=conf.get, getAll=lambda: list(conf.items())),
    )
    return SimpleNamespace(sparkContext=context)

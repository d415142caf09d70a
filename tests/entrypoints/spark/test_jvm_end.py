"""Which JVM a driver may end, and how where Spark does not stop."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from launch_runtime.spark import jvm_end
from launch_runtime.spark.jvm_end import owns_process

SUBMITTED = {"PYSPARK_GATEWAY_PORT": "4711"}
OWNED = [
    (SUBMITTED, "client", True),
    (SUBMITTED, "cluster", False),
    ({}, "client", False),
    ({**SUBMITTED, "DATABRICKS_RUNTIME_VERSION": "16.4"}, "client", False),
]


@pytest.mark.parametrize(("environment", "mode", "expected"), OWNED)
def test_only_the_jvm_of_a_spark_submit_of_this_job_is_ended(
    environment: dict[str, str], mode: str, expected: bool
) -> None:
    assert owns_process(environment, mode) is expected


class Jvm:
    """One that says what it was asked for: how often its threads, with which code its end.

    Args:
        copying: How often its thread that hands on output is still there.
        answers: Whether it does.
    """

    def __init__(self, copying: int = 0, answers: bool = True) -> None:
        self.asked: list[Any] = []
        self._copying, self._answers = copying, answers
        runtime = SimpleNamespace(halt=self._halt)
        lang = SimpleNamespace(
            Thread=SimpleNamespace(getAllStackTraces=lambda: SimpleNamespace(keySet=self._threads)),
            Runtime=SimpleNamespace(getRuntime=lambda: runtime),
        )
        self.java = SimpleNamespace(lang=lang)

    def _threads(self) -> Any:
        if not self._answers:
            raise ConnectionError
        self.asked.append("threads")
        names = iter(["redirect output"] if len(self.asked) <= self._copying else [])
        left = SimpleNamespace(hasNext=lambda: False)
        if (name := next(names, None)) is not None:
            thread = SimpleNamespace(getName=lambda: name)
            left = SimpleNamespace(hasNext=lambda: True, next=lambda: thread)
        return SimpleNamespace(iterator=lambda: left)

    def _halt(self, code: int) -> None:
        self.asked.append(("halt", code))


GIVEN_UP: list[tuple[int, str, dict[str, Any], list[Any]]] = [
    (0, "client", {"copying": 2}, ["threads", "threads", "threads", ("halt", 0)]),
    (0, "cluster", {}, []),
    (1, "client", {}, []),
    (0, "client", {"answers": False}, []),
]


@pytest.mark.parametrize(("code", "mode", "how", "asked"), GIVEN_UP)
def test_the_jvm_of_a_spark_that_does_not_stop_ends_with_its_driver(
    monkeypatch: pytest.MonkeyPatch, code: int, mode: str, how: dict[str, Any], asked: list[Any]
) -> None:
    left: list[int] = []

    def leave(code: int) -> NoReturn:
        left.append(code)
        raise SystemExit(code)

    # No clock of one case runs on into the tests after it.
    clock = SimpleNamespace(start=lambda: None)
    monkeypatch.setattr(jvm_end.threading, "Timer", lambda *_: clock)
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4711")
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)
    jvm, conf = Jvm(**how), {"spark.submit.deployMode": mode}
    context = SimpleNamespace(getConf=lambda: SimpleNamespace(get=conf.get))
    with pytest.raises(SystemExit):
        jvm_end.give_up(SimpleNamespace(_jvm=jvm, sparkContext=context), code)
    assert left == [code]
    assert jvm.asked == asked

"""When a rank has made progress last, by its lines and its guard's counts; on a made-up clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.host import ranks
from launch_runtime.host.moving_counts import MovingCounts

AFTER = 10.0


class Made:
    """A rank whose process nobody has started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.now = 0.0
        monkeypatch.setattr(ranks, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.rank = ranks.Rank(0, "host-1", 2)
        self.output: Any = SimpleNamespace(heard=0.0, moved=0.0)
        self.rank._output = self.output
        self.rank._lines = MovingCounts()

    def steps(self, now: float, **counts: int) -> None:
        self.now = now
        self.rank.take({"event": "progress", "counts": counts})

    def line(self, now: float, text: str = "alive") -> None:
        self.output.heard = now
        assert self.rank._lines is not None
        if self.rank._lines.feed(text.encode()):
            self.output.moved = now

    @property
    def progressed(self) -> float:
        return self.rank.progressed(AFTER)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)


def test_before_steps_are_known_every_line_is_progress(made: Made) -> None:
    made.steps(1, modules=500)
    made.steps(2, steps=1)
    made.line(1000)
    assert made.progressed == 1000


@pytest.mark.parametrize("name", ["steps", "batches", "exchanges"])
def test_once_steps_are_known_lines_put_a_hang_off_and_hide_none(made: Made, name: str) -> None:
    for count in range(1, 5):
        made.steps(count, **{name: count})
    made.line(15)
    assert made.progressed == 15
    made.line(1000)
    assert made.progressed == 4 + 2 * AFTER, "it hangs at three times the time behind its last step"


def test_steps_are_known_by_lines_that_count_too(made: Made) -> None:
    for step in range(1, 6):
        made.line(step, f"step {step}/100")
    made.line(1000)
    assert made.progressed == 5 + 2 * AFTER


def test_an_evaluation_that_counts_its_batches_in_lines_is_progress(made: Made) -> None:
    for count in range(1, 5):
        made.steps(count, steps=count)
    for batch in range(1000):
        made.line(5 + 9 * batch, f"\r{batch}/1000 [====>")
    assert made.progressed == 5 + 9 * 999


def test_whatever_else_a_guard_tells_is_progress(made: Made) -> None:
    for count in range(1, 5):
        made.steps(count, steps=count)
    made.steps(900, steps=4, modules=700)
    assert made.progressed == 900

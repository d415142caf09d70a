"""What is made of rates and of the machine's load."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.speed import cycles, jobs, load, pairs, stragglers
from tests.benchmarks.speed.work import Asked


def _epochs(*rates: float) -> dict[str, list[dict[str, float]]]:
    return {"history": [{"images_per_second": rate} for rate in rates]}


def test_the_pace_is_the_middle_epoch_after_the_first() -> None:
    assert jobs.steady(_epochs(1.0, 30.0, 10.0, 20.0)) == 20.0


def test_a_history_of_one_epoch_has_no_steady_pace() -> None:
    with pytest.raises(ValueError, match="two or more"):
        jobs.steady(_epochs(10.0))


def test_the_order_of_a_pair_alternates_and_each_run_has_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "others", lambda: 0.5)
    runs: list[str] = []
    seen: list[float] = []

    def arm(name: str, rate: float) -> pairs.Arm:
        def run(folder: Path) -> float:
            assert list(folder.iterdir()) == []
            (folder / "model").write_text("")
            runs.append(name)
            return rate

        return run

    found = pairs.paired((arm("ours", 9.0), arm("theirs", 10.0)), 3, tmp_path, seen)
    assert found == [(9.0, 10.0)] * 3
    assert runs == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert seen == [0.5] * 6
    assert list(tmp_path.iterdir()) == []


def test_a_row_has_the_median_of_the_pairs_ratios_and_not_the_ratio_of_medians() -> None:
    row = pairs.Row("ours", "theirs", "0.98", (lambda _: 0.0, lambda _: 0.0))
    cells = pairs.cells(row, [(100.0, 200.0), (300.0, 100.0), (400.0, 500.0)])
    assert cells == ["ours", "theirs", "300", "200", "0.80 (0.50 to 3.00)", "0.98"]


def test_slow_rates_keep_their_decimals() -> None:
    row = pairs.Row("ours", "theirs", "", (lambda _: 0.0, lambda _: 0.0))
    assert pairs.cells(row, [(3.254, 3.5)])[2:4] == ["3.25", "3.50"]


def test_in_step_both_take_as_long_as_the_slower() -> None:
    apart, together = stragglers.rates([1.0, 3.0], [3.0, 1.0], 6)
    assert (apart, together) == (6.0, 4.0)


def test_a_cycle_is_compared_with_horovods_own_of_the_same_round() -> None:
    rows = cycles.cells({1: [100.0, 200.0, 50.0], 10: [120.0, 180.0, 75.0]})
    assert rows == [["1", "100", ""], ["10", "120", "1.20 (0.90 to 1.50)"]]


@pytest.mark.parametrize(
    ("idle", "busy"),
    [pytest.param(200, 0.0, id="idle"), pytest.param(50, 1.5, id="one and a half")],
)
def test_busy_cores_are_the_time_that_was_neither_idle_nor_waiting(idle: int, busy: float) -> None:
    """user nice system idle iowait irq softirq steal guest guest_nice, of two cores."""
    before = "cpu  1000 0 500 8000 100 0 0 0 0 0\ncpu0 1 2\ncpu1 1 2\nintr 5\n"
    waiting, working = 0, 200 - idle
    if not working:
        waiting, idle = 20, 180
    after = f"cpu  {1000 + working} 0 500 {8000 + idle} {100 + waiting} 0 0 0 9 0\n"
    assert load.cores_busy(before, after) == pytest.approx(busy)


def test_two_readings_of_one_moment_say_nothing_of_the_load() -> None:
    text = "cpu  1 0 0 8 1 0 0 0 0 0\ncpu0 1 2\n"
    assert load.cores_busy(text, text) == 0.0


def test_each_rank_has_whole_steps_and_two_epochs_or_more_also_in_a_smoke() -> None:
    for model in ("cnn", "resnet50", "efficientnetb0"):
        for smoke in (False, True):
            work = Asked(model=model, smoke=smoke).work
            assert work.pictures % (2 * work.batch) == 0
            assert work.epochs >= 2


def test_mpi_without_a_horovod_that_has_it_says_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pairs, "_runs", lambda words: False)
    monkeypatch.setattr(pairs, "two_cores", lambda: [0, 1])
    assert pairs.ROWS["mpi"](Asked().work, tmp_path) is None
    assert "HOROVOD_WITH_MPI=1" in capsys.readouterr().out

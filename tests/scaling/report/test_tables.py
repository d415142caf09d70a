"""The table of sizes: medians with their range, and why a size has none."""

from __future__ import annotations

from launchers.scaling.report.tables import Cell, columns, lines, runs
from tests.scaling.report.studies import STUDIES, compared, row, run, study, times


def test_a_cell_has_median_and_range_with_one_unit():
    of = times({1: [10.0, 10.0, 10.0], 2: [6.0, 7.0, 8.0]})
    heads = [head for head, _, _ in columns(of)]
    cells = dict(zip(heads, lines(of)[1].cells, strict=True))
    assert cells["seconds an epoch"] == Cell("7.00", "6.00 to 8.00")
    assert cells["speed-up"] == Cell("1.43", "1.25 to 1.67")
    assert cells["efficiency"] == Cell("71 %", "62 to 83 %")
    assert cells["test accuracy"] == Cell("0.8600")


def test_a_column_that_no_run_has_figures_for_is_left_out():
    assert [head for head, _, _ in columns(STUDIES["silent"]())] == [
        "images a second",
        "speed-up",
        "efficiency",
    ]


def test_a_size_without_a_run_that_succeeded_says_why():
    lost = next(line for line in lines(compared()) if line.name == "lr-scaling none, 8 ranks")
    assert (lost.runs, lost.trouble) == ("0 of 3", "8 ranks on 2 cores: host 1 lost")


def test_a_figure_that_one_size_lacks_is_a_dash():
    of = study(row(1, run(1)), row(2, run(2, 1, None, [None])))
    assert lines(of)[1].cells[0] == Cell("\u2013")


def test_each_run_is_listed_with_its_job_and_its_state():
    listed = list(runs(compared()))
    assert len(listed) == 24
    (failed,) = [one for one in listed if one[0] == "lr-scaling linear, 4 ranks" and one[1] == "2"]
    assert failed[2:4] == ("train-0a1b2c3d-42", "failed")
    assert "ResourceExhaustedError" in failed[-1]

"""What the charts hold, and that every study can be drawn."""

from __future__ import annotations

from math import isfinite
from xml.etree import ElementTree

import pytest

from launchers.scaling.measures import filled
from launchers.scaling.report import svg
from launchers.scaling.report.charts import charts
from launchers.scaling.report.marks import MARKS, look
from launchers.scaling.report.scales import scales, ticks
from launchers.scaling.results import Row, Run, Size
from tests.scaling.report.studies import STUDIES, compared, row, run, study, times

CHARTS = ["accuracy-epochs", "accuracy-seconds", "speed-up", "epoch-time"]


def chart(key: str, of=None):
    return next(one for one in charts(of or compared()) if one.key == key)


def test_a_study_that_said_everything_has_four_charts():
    assert [one.key for one in charts(compared())] == CHARTS


def test_accuracies_are_of_runs_that_succeeded_with_their_range():
    points = chart("accuracy-epochs").series[0].points
    assert [point.x for point in points] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert all(point.low < point.high for point in points)
    assert all(point.low <= point.y <= point.high for point in points)
    assert "lr-scaling none, 8 ranks" not in [s.name for s in chart("accuracy-epochs").series]


def test_a_run_that_failed_draws_no_point():
    lone = study(row(1, run(1)), row(2, run(2, state="failed")))
    assert len(chart("accuracy-epochs", lone).series) == 1


def test_the_ideal_line_begins_at_the_smallest_size_that_succeeded():
    assert chart("speed-up").ideal == ((1, 1), (4, 4))
    lost = study(
        row(1, run(1, state="failed")),
        row(2, run(2, 1, 8.0)),
        row(4, run(4, 1, 5.0)),
    )
    assert chart("speed-up", lost).ideal == ((2, 1), (4, 2))


def test_one_world_size_on_one_and_on_two_hosts_stands_in_two_lines():
    def on(hosts: int, ranks: int, seconds: float) -> Row:
        size = Size(hosts, ranks)
        made = run(hosts * ranks, 1, seconds)
        return Row(size, hosts * ranks, (Run(**{**vars(made), "size": size}),))

    of = study(on(1, 1, 10), on(1, 2, 6), on(2, 1, 7), on(2, 2, 4))
    assert [s.name for s in chart("epoch-time", of).series] == ["1 host", "2 hosts"]
    assert [row[0] for row in chart("epoch-time", of).table.rows] == [
        "1 rank",
        "2 ranks",
        "4 ranks",
    ]


def test_one_world_size_with_and_without_gpus_stands_in_two_lines():
    def with_gpus(gpus: int, world: int) -> Row:
        size, made = Size(1, 1, gpus), run(world, 1, 10 - gpus)
        return Row(size, world, (Run(**{**vars(made), "size": size}),))

    of = study(with_gpus(0, 1), with_gpus(1, 1), with_gpus(2, 2))
    lines = {s.name: [p.x for p in s.points] for s in chart("epoch-time", of).series}
    assert lines == {"1 host, 0 GPUs": [1], "1 host, 1 GPU": [1], "1 host, 2 GPUs": [2]}
    names = [s.name for s in chart("accuracy-epochs", of).series]
    assert names == ["1 rank with 0 GPUs", "1 device", "2 devices"]


def test_devices_of_one_process_are_called_so():
    def on(gpus: int) -> Row:
        size = Size(1, 1, gpus)
        return Row(size, gpus, (Run(**{**vars(run(gpus, 1, 10 / gpus)), "size": size}),))

    assert chart("speed-up", study(on(1), on(2))).x.title == "devices"


def test_each_figure_of_a_chart_stands_in_its_table():
    for one in charts(STUDIES["many"]()):
        cells = {cell for row in one.table.rows for cell in row[1:]}
        figures = [point.label.split(": ", 1)[-1] for s in one.series for point in s.points]
        assert all(any(figure in cell for cell in cells) for figure in figures)
        assert one.table.heads[1:] == tuple(series.name for series in one.series)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("width", [320, 560])
def test_every_chart_is_whole_xml_and_stays_inside_its_edges(name, width):
    for one in charts(STUDIES[name]()):
        root = ElementTree.fromstring(svg.drawn(one, width, 300, "wide"))
        for mark in root.iter("circle"):
            assert 0 <= float(mark.attrib["cx"]) <= width
            assert 0 <= float(mark.attrib["cy"]) <= 300


@pytest.mark.parametrize(
    "of",
    [
        times({1: [10.0], 2: [10.0]}, {1: [0.5], 2: [0.5]}),
        study(row(1, run(1, 1, 10.0, [0.5])), row(2, run(2, 1, 1e-9, [0.5]))),
        study(row(1, run(1, 1, 1e7, [float("nan")])), row(2, run(2, 1, 1e7, [float("inf"), 0.1]))),
        study(row(1, run(1, 1, 10.0, [0.1])), row(4096, run(4096, 1, 0.01, [0.1, None, 0.1]))),
        study(row(1, run(1, 1, 10.0, [1e12])), row(2, run(2, 1, 9.0, [1e12]))),
    ],
    ids=["nothing differs", "no time at all", "diverged", "4096 ranks and a gap", "no accuracy"],
)
def test_odd_figures_are_drawn_too(of):
    for one in charts(of):
        x, y = scales(one)
        assert all(isfinite(end) for end in (x.low, x.high, y.low, y.high))
        text = svg.drawn(one, 320, 260, "narrow")
        assert "nan" not in text
        assert "inf" not in text


def test_any_twelve_series_differ_by_marker_by_dash_and_by_colour():
    for first in range(3 * len(MARKS)):
        looks = [look(number) for number in range(first, first + len(MARKS))]
        if first % len(MARKS) == 0:
            for part in ("shape", "symbol", "dash", "light", "dark"):
                assert len({getattr(one, part) for one in looks}) == len(MARKS), part
    every = [look(number) for number in range(100)]
    assert len({(one.shape, one.dash, one.light) for one in every}) == 100


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0.81, 0.9, 6, [0.8, 0.82, 0.84, 0.86, 0.88, 0.9]),
        (0, 4, 6, [0, 1, 2, 3, 4]),
        (0, 24.3, 6, [0, 5, 10, 15, 20, 25]),
        (0.5, 0.5, 6, None),
        (0, 1e9, 6, [0, 2e8, 4e8, 6e8, 8e8, 1e9]),
    ],
)
def test_ticks_are_round_and_hold_all_values(low, high, most, expected):
    found = ticks(low, high, most)
    assert found[0] <= low
    assert found[-1] >= high
    assert 2 <= len(found) <= most + 1
    assert expected is None or found == expected


def test_epochs_are_counted_in_whole_numbers():
    one = chart("accuracy-epochs", study(row(1, run(1)), row(2, run(2))))
    x, _ = scales(one)
    assert [label for _, label in x.ticks] == ["1", "2", "3"]


def test_rows_are_filled_before_they_are_drawn():
    assert filled(compared().rows) == compared().rows

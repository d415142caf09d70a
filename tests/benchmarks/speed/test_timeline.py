"""What is read from Horovod's timeline: parts of a step, also where the file is cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.benchmarks.speed import events, timeline
from tests.benchmarks.speed.work import Asked


def _way(tensor: int, at: int) -> Iterator[dict[str, Any]]:
    """One allreduce of a tensor that takes 100: negotiated 40, waiting 20, copied 10, moved 30."""

    def begin(name: str, moment: int) -> dict[str, Any]:
        return {"ph": "B", "name": name, "ts": at + moment, "pid": tensor}

    def end(moment: int) -> dict[str, Any]:
        return {"ph": "E", "ts": at + moment, "pid": tensor}

    yield begin("NEGOTIATE_ALLREDUCE", 0)
    yield {"ph": "X", "name": "1", "ts": at + 3, "pid": tensor, "dur": 0}
    yield end(40)
    yield begin("ALLREDUCE", 60)
    yield begin("MEMCPY_IN_FUSION_BUFFER", 60)
    yield end(70)
    yield begin("GLOO_ALLREDUCE", 70)
    yield end(100)
    yield end(100)


def _text(steps: int) -> str:
    """Two gradients; a step of 1,000 in which the second begins when the first is half agreed."""
    lines = [{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grads_0"}}]
    for number in range(steps):
        lines += [*_way(1, 1000 * number), *_way(2, 1000 * number + 20)]
    return "[\n" + ",\n".join(json.dumps(line) for line in lines) + ",\n"


def _steps(text: str) -> list[events.Step]:
    return events.steps(*events.spans(events.events(text)))


def test_a_steps_parts_are_its_time_and_overlaps_count_once() -> None:
    first, *_ = _steps(_text(4))
    assert first.took == 1000
    assert [first.of(part) for part in events.PARTS] == [50, 10, 20, 40, 880]
    assert sum(first.of(part) for part in events.PARTS) == first.took


def test_a_step_goes_from_the_last_exchange_of_one_to_the_last_of_the_next() -> None:
    assert [(step.begin, step.end) for step in _steps(_text(3))] == [(120, 1120), (1120, 2120)]


@pytest.mark.parametrize("left", [1, 10, 60, 200, 300, 500])
def test_a_file_that_is_cut_off_gives_the_steps_before_the_cut(left: int) -> None:
    whole = _text(4)
    cut = _steps(whole[:-left])
    assert 2 <= len(cut) <= 3
    assert cut == _steps(whole)[: len(cut)]


@pytest.mark.parametrize("end", ["", "]", "]\n"])
def test_a_file_is_read_with_and_without_its_last_bracket(end: str) -> None:
    assert len(events.events(_text(2).rstrip(",\n") + end)) == 1 + 2 * 2 * 9


@pytest.mark.parametrize("text", ["", "[", "[\n", "no timeline"])
def test_a_file_without_events_has_none(text: str) -> None:
    assert events.events(text) == []


def test_warm_and_long_steps_are_left_out_of_the_means() -> None:
    pieces = [("compute", 0.0, 6.0), ("exchange", 6.0, 10.0)]
    usual, long = events.Step(0, 10, pieces), events.Step(0, 500, [("compute", 0.0, 500.0)])
    kept = events.ordinary([long, long, *[usual] * 17, long])
    assert kept == [usual] * 17
    found = events.means(kept)
    assert found["exchange"] == pytest.approx(0.004)
    assert sum(found.values()) == pytest.approx(0.010)


def test_the_table_and_the_picture_of_a_file_come_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, picture = tmp_path / "a < b.json", tmp_path / "step.svg"
    file.write_text(_text(30))
    timeline.run(Asked(read=file, picture=picture))
    said = capsys.readouterr().out
    assert "27 of 29 steps" in said
    assert "| exchange | bytes go from rank to rank and are added up | 0.05 | 5.0 % |" in said
    assert "| step |  | 1.00 | 100 % |" in said
    drawn = ElementTree.parse(picture).getroot()
    texts = [one.text or "" for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert set(events.PARTS) <= set(texts)
    assert any("a < b.json" in text for text in texts)


def test_a_file_without_steps_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_text("[\n")
    with pytest.raises(SystemExit, match=r"empty\.json: found 0 steps"):
        timeline.run(Asked(read=file))

"""The data tables' command works; what it prints of so little says nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.data.plot import OTHER, OURS, drawn
from tests.benchmarks.data.racing import READERS, Reader, Way, race

_READER = """
import sys
sys.path.insert(0, {readers!r})
from counting import count, parser

class Batch:
    shape = (64,)

def batches():
    while True:
        yield Batch(), None

count(parser().parse_args(), batches)
"""


@pytest.mark.processes
def test_the_conversion_table_and_its_plot_come_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if not Path("/usr/share/datasets/fashion-mnist").is_dir():
        pytest.skip("Debian's package dataset-fashion-mnist is not here")
    plot = tmp_path / "plot.svg"
    words = ["benchmarks", "--smoke", "--plot", str(plot), "data-conversion"]
    monkeypatch.setattr(sys, "argv", words)
    benchmarks.main()
    said = capsys.readouterr().out
    assert "| plain loop |" in said
    assert "| process |" in said
    assert "60 pictures copied as they are" in said
    ElementTree.parse(plot)


@pytest.mark.processes
def test_all_ranks_of_a_reader_are_counted_together(tmp_path: Path) -> None:
    program = tmp_path / "reader.py"
    program.write_text(_READER.format(readers=str(READERS)))
    reader = Reader("nothing", str(program), ("place",))
    (rate,) = race([reader], 1, Way(2, warm=128, seconds=0.01))["nothing"]
    assert rate.rows > 0
    (cold,) = race([reader], 1, Way(2, cold=256, drop=False))["nothing"]
    assert cold.rows > 0


@pytest.mark.processes
def test_a_reader_that_fails_is_named_with_what_it_said(tmp_path: Path) -> None:
    program = tmp_path / "reader.py"
    program.write_text("raise SystemExit('no such place')")
    with pytest.raises(RuntimeError, match=r"(?s)broken: .*no such place"):
        race([Reader("broken", str(program), ())], 1, Way())


def test_the_plot_is_one_whole_svg() -> None:
    text = drawn({"a < b": {"theirs": [2.0], "process": [3.0, 1.0]}}, "a machine")
    whole = ElementTree.fromstring(text)
    assert whole.tag.endswith("svg")
    colours = [one.get("fill") for one in whole.findall("{*}rect[@x]")]
    assert colours == [OTHER, OURS]

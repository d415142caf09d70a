"""The contact sheet: which pictures, how they are drawn, where the file goes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError
from launchers.data import reading_program, sheet_program
from launchers.data.place import Place, PlaceSplit, read_place
from launchers.data.sheet import draw_sheet
from tests.data.made import CLASSES, parquet, picture
from tests.entrypoints.lib.pictures.samples import turned
from tests.refusals import refused

FILES = [{"name": "a", "row_groups": [4, 2]}, {"name": "b", "row_groups": [6]}]


def rows_of(chosen: dict[str, dict[int, list[int]]]) -> list[tuple[str, int, int]]:
    return [(name, at, row) for name, of in chosen.items() for at in of for row in of[at]]


def test_the_same_seed_gives_the_same_sample_and_another_another():
    first = sheet_program.sample(FILES, 5, 1)
    assert first == sheet_program.sample(FILES, 5, 1) != sheet_program.sample(FILES, 5, 2)
    assert len(rows_of(first)) == 5


def test_every_row_is_taken_once_where_there_are_no_more():
    assert rows_of(sheet_program.sample(FILES, 99, 0)) == [
        *(("a", 0, row) for row in range(4)),
        *(("a", 1, row) for row in range(2)),
        *(("b", 0, row) for row in range(6)),
    ]


def drawn(tmp_path: Path, contents: list[bytes], title: str = "food, train") -> tuple[Any, Any]:
    from PIL import Image

    pictures = [{"label": n % 3, "content": one} for n, one in enumerate(contents)]
    file = tmp_path / "sheet.png"
    answer = sheet_program.draw(reading_program, pictures, list(CLASSES), title, str(file))
    assert [one.name for one in tmp_path.iterdir()] == ["sheet.png"]
    with Image.open(file) as found:
        return answer, found.convert("RGB")


def test_each_picture_stands_in_its_field_and_what_is_none_in_a_frame(tmp_path: Path):
    answer, page = drawn(tmp_path, [picture(200), b"nothing", picture(40, "PNG", 300)])

    assert answer == {"shown": 3, "bad": 1, "width": page.width, "height": page.height}
    side, gap, top = sheet_program.SIDE, sheet_program.GAP, sheet_program.TITLE
    fields = [
        page.getpixel((gap + n * (side + gap) + side // 2, top + side // 4)) for n in range(3)
    ]
    assert abs(fields[0][0] - 200) < 12
    assert fields[1] == (255, 255, 255)
    assert abs(fields[2][0] - 40) < 12


def test_a_picture_that_its_exif_data_turn_is_drawn_upright(tmp_path: Path):
    _, page = drawn(tmp_path, [turned(64, 32, 6)])

    left, top, side = sheet_program.GAP, sheet_program.TITLE, sheet_program.SIDE
    across = [page.getpixel((left + at, top + side // 4)) for at in (side // 8, side * 3 // 8)]
    assert across[0] == (255, 255, 255), "it stands: 64 wide"
    blue, red = across[1], page.getpixel((left + side * 5 // 8, top + side // 4))
    assert blue[2] > 200 > blue[0]
    assert red[0] > 200 > red[2]


def test_a_sheet_has_a_title_and_a_name_below_each_picture(tmp_path: Path):
    _, page = drawn(tmp_path, [picture(0)] * 20, "é" * 500 + "餅")

    assert page.crop((0, 0, page.width, sheet_program.TITLE)).getextrema()[0][0] < 100
    below = sheet_program.TITLE + sheet_program.SIDE
    names = page.crop((0, below + 1, page.width, below + sheet_program.CAPTION))
    assert names.getextrema()[0][0] < 200


FOREIGN = Place("food", ("1", "2"), (PlaceSplit("", 3, (1, 2), ()),), has_manifest=False)


def test_a_place_without_classes_names_is_drawn_with_the_labels(monkeypatch: pytest.MonkeyPatch):
    asked: list[dict[str, Any]] = []

    def ask(*words: str, **about: Any) -> dict[str, int]:
        asked.append(about)
        return {"shown": 3, "bad": 0}

    monkeypatch.setattr("launchers.data.sheet.ask", ask)
    draw_sheet(sys.executable, FOREIGN, FOREIGN.splits[0], 3, 0, "sheet.png")
    assert asked[0]["classes"] == []  # else label 1 would be called 2


@pytest.mark.parametrize(("name", "found"), [("", "no row"), ("test", "test: no row")])
def test_a_split_without_a_row_is_told(name: str, found: str):
    split = PlaceSplit(name, 0, (), ())
    with pytest.raises(LaunchError) as caught:
        draw_sheet(sys.executable, FOREIGN, split, 3, 0, "sheet.png")
    (problem,) = caught.value.problems
    assert (problem.rule, problem.found, problem.expected) == ("data-split", found, "a picture")


@pytest.mark.processes
def test_a_sheet_of_a_place_is_drawn_where_it_is_asked_for(tmp_path: Path):
    content = [picture(n) for n in range(8)]
    parquet(tmp_path / "data" / "a.parquet", {"label": [*range(8)], "content": content})
    found = read_place(str(tmp_path / "data"), lambda: sys.executable)
    (split,) = found.splits

    sheet = draw_sheet(sys.executable, found, split, 5, 0, str(tmp_path / "sheet.png"))

    assert (sheet.shown, sheet.not_decoded) == (5, 0)
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    with refused("data-sheet", match="No such file"):
        draw_sheet(sys.executable, found, split, 5, 0, str(tmp_path / "none" / "sheet.png"))

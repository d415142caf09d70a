"""`launch data`: pictures become Parquet, and what a place of it holds is told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from launchers.cli.show.conversion import say_converted
from tests.cli.command import Launch
from tests.cli.emulator import lines_on
from tests.cli.terminal import on_terminal
from tests.data.made import class_folders, parquet, picture, place
from tests.places import ENTRYPOINTS
from tests.waiting import processes_with, until

START = (
    '{"event": "start", "source": "/photos", "place": "/food", "pictures": 20000, "bytes": 3000000,'
    ' "classes": ["a", "b"], "tasks": 16, "tasks_done": 3, "ignored": 2}'
)
PROGRESS = (
    '{"event": "progress", "pictures": 20000, "pictures_done": 5000, "rate": 250.1,'
    ' "seconds_left": 60.2}'
)


def stand_in(launch: Launch, program: str) -> str:
    """A Python that has everything, and runs ``program`` in the converter's place."""
    launch.write("program.py", program)
    python = launch.write(
        "python",
        f'#!/bin/sh\ncase "$1" in\n-c) echo "[]" ;;\n'
        f'*) exec {sys.executable} {launch.folder}/program.py "$@" ;;\nesac\n',
    )
    python.chmod(0o755)
    return str(python)


def saying(*events: str, then: str = "") -> str:
    return "".join(f"print({event!r}, flush=True)\n" for event in events) + then


@pytest.mark.processes
def test_pictures_become_a_place_that_is_told_and_shown(launch: Launch):
    class_folders(launch.folder / "photos", each=10)
    (launch.folder / "photos" / "churros" / "bad.jpg").write_bytes(b"none")
    words = ("data", "parquet", "photos", "food", "--split", "0.7,0.3", "--seed", "13")

    made = launch(*words, "--json")
    again = launch(*words)
    info = launch("data", "info", "food", "--verify", "--ranks", "2", "--json")
    sheet = launch("data", "show", "food", "--split", "validation", "--json")

    assert made.code == 0, made.err
    answer = made.json
    assert (answer["rows"], answer["pictures"], answer["made"]) == (30, 31, True)
    assert [one["path"] for one in answer["left_out"]] == ["churros/bad.jpg"]
    assert "next: launch data info food\n" in made.err
    script = ENTRYPOINTS / "train_image_classifier.py"
    train = f"launch local {script} --instances 2 -- --data parquet:{launch.folder}/food\n"
    assert train in made.err
    assert again.code == 0
    assert "made before by the same command" in again.err
    assert info.code == 0, info.err
    assert info.json["verified"]
    assert info.json["classes"] == answer["classes"] == ["apple pie", "bibimbap", "churros"]
    rows = {split["name"]: split["rows"] for split in info.json["splits"]}
    assert rows == {split["name"]: split["rows"] for split in answer["splits"]}
    assert sheet.code == 0, sheet.err
    assert sheet.json["shown"] == rows["validation"]
    assert Path(sheet.json["file"]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.processes
@pytest.mark.parametrize("flag", [("--quality", "10"), ("--fit", "pad")])
def test_a_flag_that_would_change_nothing_is_a_wrong_request(flag: tuple[str, str], launch: Launch):
    class_folders(launch.folder / "photos", each=1)
    ended = launch("data", "parquet", "photos", "food", *flag)
    assert ended.code == 2
    assert f"argument {flag[0]}: {flag[1]}, but no picture is" in ended.err
    assert "beside it [data-conversion]" in ended.err
    assert not (launch.folder / "food").exists()


@pytest.mark.processes
def test_what_the_converter_refuses_is_a_wrong_request(launch: Launch):
    ended = launch("data", "parquet", "nosuch", "food", "--json")
    assert ended.code == 2
    (problem,) = ended.json["error"]["problems"]
    assert problem["rule"] == "data-conversion"
    assert "nosuch" in problem["found"]
    assert problem["expected"] == "a folder of class folders"
    assert ended.err.count("expected") == 1
    assert not (launch.folder / "food").exists()


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("info", "nosuch"), "data-place"),
        (("info", "food", "--split", "night"), "data-split"),
        (("info", "food", "--ranks", "0"), "flag-value"),
        (("show", "food", "-o", "sheet.txt"), "data-sheet"),
        (("parquet", "photos", "food", "--python", "nosuch"), "data-python"),
        (("parquet", "photos", "food", "--seed", "x"), "flag-value"),
        (("parquet", "photos", "food", "--engine", "ray"), "flag-value"),
    ],
)
def test_a_wrong_request_is_one_line(words: tuple[str, ...], rule: str, launch: Launch):
    place(launch.folder / "food", {"train": [4]})
    ended = launch("data", *words, "--json")
    assert ended.code == 2, ended.err
    assert [one["rule"] for one in ended.json["error"]["problems"]] == [rule]


def test_files_that_are_gone_are_told_and_nothing_else(launch: Launch):
    food = place(launch.folder / "food", {"train": [4]})
    (food / "train" / "part-00000.parquet").unlink()
    ended = launch("data", "info", "food")
    assert (ended.code, ended.out) == (2, "")
    assert "[data-files]" in ended.err


def test_ranks_that_cannot_be_fed_evenly_are_told(launch: Launch):
    place(launch.folder / "food", {"train": [4, 4, 3], "test": [2]})
    plain = launch("data", "info", "food", "--batch-size", "3")
    asked = launch("data", "info", "food", "--ranks", "4")

    rows = [line.split() for line in plain.out.splitlines()]
    assert ["train", "2", "5", "2", "2", "no:", "1", "row", "over"] in rows
    assert ["train", "1", "11", "4", "2", "yes"] in rows
    assert "warning" not in plain.err
    assert "train, 4 ranks: 3 row groups; expected 4 or more [data-row-groups]" in asked.err
    assert "test, 4 ranks: 2 rows; expected 4 rows or more [data-too-few]" in asked.err
    assert asked.code == 0


@pytest.mark.processes
def test_labels_far_apart_are_listed_as_they_occur(launch: Launch):
    columns = {"label": [0, 3000, 3000], "content": [picture(n) for n in range(3)]}
    parquet(launch.folder / "food" / "a.parquet", columns)
    plain = launch("data", "info", "food")
    answer = launch("data", "info", "food", "--json").json

    rows = [line.split() for line in plain.out.splitlines()]
    assert ["3000", "3000", "2"] in rows
    assert len(rows) < 30
    assert "label 3000 in 3 rows" in plain.err
    assert (answer["classes"], answer["splits"][0]["counts"]) == (["0", "3000"], [1, 2])
    assert [one["rule"] for one in answer["problems"]] == ["data-labels"]


def test_of_very_many_classes_the_first_are_listed(launch: Launch):
    names = [f"class {n}" for n in range(1200)]
    place(launch.folder / "food", {"train": [1200]}, names)
    plain = launch("data", "info", "food")

    assert "class 999" in plain.out
    assert "class 1000" not in plain.out
    assert "... and 200 more classes; --json has all of them" in plain.out
    assert launch("data", "info", "food", "--json").json["classes"] == names


@pytest.mark.processes
def test_an_interrupted_conversion_says_how_it_goes_on_and_leaves_nothing(launch: Launch):
    # No signal.pause(): a signal that comes right before it would never be heard.
    wait = "import time\nwhile True:\n    time.sleep(0.05)\n"
    python = stand_in(launch, saying(START, PROGRESS, then=wait))
    mark = str(launch.folder / "photos")
    running = launch.start("data", "parquet", mark, "food", "--python", python, "--json")
    assert running.stderr
    told = [running.stderr.readline() for _ in range(3)]
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()

    assert "20,000 pictures of 2 classes" in told[0]
    assert "goes on: 3 of 16 parts are done" in told[1]
    assert "2 files that are no picture" in told[2]
    assert running.returncode == 130
    assert '"rule": "interrupted"' in out
    assert "run the same command to resume from there" in err
    until(lambda: not processes_with(mark), "everything has ended")


@pytest.mark.processes
@pytest.mark.parametrize("columns", [80, 200])
def test_a_terminal_shows_how_far_it_is_with_rate_and_time_left(columns: int, launch: Launch):
    bad = '{"event": "bad", "path": "a/1.jpg", "reason": "ends in the middle"}'
    python = stand_in(launch, saying(START, bad, PROGRESS, then="input()\n"))
    words = ("data", "parquet", "photos", "food", "--python", python)
    with on_terminal(launch, *words, size=(columns, 50)) as terminal:
        terminal.wait_for(b"1:00 left")
        shown = lines_on(terminal.shown.decode())
        terminal.rest()
        assert terminal.code() == 1
    assert any("5,000 of 20,000 pictures" in line and "250/s" in line for line in shown)
    assert "left out: a/1.jpg: ends in the middle" in " ".join(shown)
    assert max(map(len, shown)) <= columns


def test_what_is_missing_in_its_python_is_named_before_anything_is_started(launch: Launch):
    python = launch.write("python", "#!/bin/sh\necho '[\"pyspark\"]'\n")
    python.chmod(0o755)
    words = ("data", "parquet", "photos", "food", "--engine", "spark", "--python", str(python))
    ended = launch(*words)
    assert ended.code == 2
    assert "no pyspark in" in ended.err
    assert "-m pip install pyspark" in ended.err


@pytest.mark.parametrize("words", [("--help",), ("data", "--help"), ("data", "info", "food")])
def test_nothing_heavy_is_imported(words: tuple[str, ...], launch: Launch):
    place(launch.folder / "food", {"train": [4]})
    program = (
        "import sys\nfrom launchers.cli.main import ended\n"
        "ended(sys.argv[1:])\n"
        "heavy = {'pyarrow', 'PIL', 'numpy', 'dask', 'pyspark'} & {*sys.modules}\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=launch.folder,
        env=launch.environment({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("splits", "words"),
    [
        (["train"], "the shared scripts test on a split, which --split 0.9,0.1 makes"),
        (["train", "test"], "--instances 2 -- --data parquet:/x/food"),
        (["train", "validation"], "--instances 2 -- --data parquet:/x/food"),
    ],
)
def test_the_command_that_comes_next_is_one_that_works(
    splits: list[str], words: str, capsys: pytest.CaptureFixture[str]
):
    size = {"rows": 4, "files": 1, "bytes": 100}
    event = {"classes": 2, "pictures": 4, "rows": 4, "bad": 0, "made": True, "seconds": 1.0}
    say_converted({**event, "place": "/x/food", "splits": dict.fromkeys(splits, size)}, "food")
    said = capsys.readouterr().err
    assert words in said
    assert ("launch local" in said) == (len(splits) > 1)

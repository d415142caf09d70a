"""A study's folder: what is written is read again, whole, and by one launcher at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from launchers.scaling.records import (
    PAGE,
    RESULTS_JSON,
    STATE,
    StudyFolder,
    differences,
    other_sizes,
    place_of,
)
from launchers.scaling.results import Size
from tests.refusals import refused
from tests.scaling.made import record, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyFolder:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))
    return StudyFolder(tmp_path / "study")


def test_what_is_written_is_read_again(folder: StudyFolder):
    variant = Size(1, 2, 4, (("sync", "average:4"),))
    written = record(run(1, reason="half a \ud800 character"), run(2, size=variant, load=0.5))
    with folder.locked():
        folder.write(written)

    found = StudyFolder(folder.path).read()

    assert found is not None
    assert found.runs[1] == written.runs[1]
    assert found.settings == written.settings
    assert folder.state.stat().st_mode & 0o077 == 0
    assert [path.name for path in folder.path.iterdir()] == [STATE]


def test_there_is_no_record_before_the_first(folder: StudyFolder):
    assert folder.read() is None


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"version": 2}', '{"version": 1, "runs": 3}', "\x00", '{"version": 1}'],
)
def test_a_state_that_is_damaged_is_refused(folder: StudyFolder, text: str):
    folder.path.mkdir()
    folder.state.write_text(text)
    with refused("scaling-state"):
        folder.read()


def test_a_run_takes_the_place_of_itself_alone(folder: StudyFolder):
    with folder.locked():
        folder.write(record(run(1), run(2), run(1, repeat=2)))
        folder.put(run(1, repeat=2, state="failed"))

    found = folder.read()

    assert found is not None
    assert [one.state for one in found.runs] == ["succeeded", "succeeded", "failed"]


def test_a_second_launcher_is_refused_while_the_first_is_at_work(folder: StudyFolder):
    with folder.locked(), refused("scaling-running"), StudyFolder(folder.path).locked():
        pass
    with StudyFolder(folder.path).locked():
        pass


def test_another_command_line_is_told_what_differs():
    before = record(**{"--processes": "1,2", "--repeat": "3"})
    settings = {**before.settings, "--processes": "1,2,4", "--batch": "total"}
    del settings["--repeat"]

    found = differences(before, settings)

    assert {(one.rule, one.path, one.found, one.expected) for one in found} == {
        ("scaling-another", "--processes", "1,2,4", "1,2"),
        ("scaling-another", "--batch", "total", "rank"),
        ("scaling-another", "--repeat", "not given", "3"),
    }
    assert differences(before, before.settings) == []


def test_credentials_are_not_told_with_what_differs():
    key = "AKIA" + "IOSFODNN7EXAMPLA"
    before = record(**{"--": f"--epochs 3 --api-key {key}"})

    (found,) = differences(before, {**before.settings, "--": "--epochs 4"})

    assert found.found == "--epochs 4"
    assert found.expected.startswith("--epochs 3 --api-key ")
    assert key not in found.expected


def test_a_machine_that_makes_other_sizes_of_it_does_not_go_on():
    before = record(run(1), run(2))

    (found,) = other_sizes(before, [Size(1, 1), Size(1, 4)])

    assert (found.rule, found.path) == ("scaling-another", "sizes")
    assert (found.found, found.expected) == ("1 x 1, 1 x 4", "1 x 1, 1 x 2")
    assert other_sizes(before, [Size(1, 2), Size(1, 1), Size(1, 1)]) == []


def test_a_study_does_not_lie_in_a_source_that_travels(folder: StudyFolder, tmp_path: Path):
    source = tmp_path / "project"
    source.mkdir()
    with refused("scaling-output"):
        place_of("train-1", str(source / "study"), source)
    assert place_of("train-1", str(source / "study"), None) == source / "study"
    assert place_of("train-1", None, source).parts[-2:] == ("studies", "train-1")


def test_a_study_of_an_earlier_release_goes_on(folder: StudyFolder):
    with folder.locked():
        folder.write(record(run()))
    value = json.loads(folder.state.read_text())
    del value["files"], value["changed"]
    folder.state.write_text(json.dumps(value))

    assert folder.read() == record(run())


def test_files_that_no_study_wrote_are_not_overwritten(folder: StudyFolder):
    folder.check()
    folder.path.mkdir()
    (folder.path / RESULTS_JSON).write_text("mine")
    (folder.path / PAGE).symlink_to("nowhere")
    (folder.path / "notes.txt").touch()

    with refused("scaling-exists") as caught:
        folder.check()
    assert [Path(one.path).name for one in caught.value.problems] == [RESULTS_JSON, PAGE]

    folder.state.write_text("{}")
    with refused("scaling-state"):
        folder.check()
    folder.write(record(run()))
    folder.check()


def test_the_state_is_json_that_a_person_can_read(folder: StudyFolder):
    with folder.locked():
        folder.write(replace(record(run()), name="mine"))
    assert json.loads(folder.state.read_text())["name"] == "mine"

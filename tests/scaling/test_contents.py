"""What of a study's source has changed since the study began, and what of that ends it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from launchers.core.source.script import JobSource, read_source
from launchers.core.spec.job import JobSpec
from launchers.scaling import contents
from launchers.scaling.contents import changed_files, digests_of, source_changes
from launchers.scaling.identity import source_digest
from launchers.scaling.records import Record
from tests.scaling.made import project, record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = project(tmp_path)
    (folder / "gone.txt").touch()
    return folder


def read(folder: Path) -> JobSource:
    return read_source(JobSpec(script=str(folder / "train.py")))


def begun(folder: Path) -> Record:
    source = read(folder)
    return replace(record(), source=source_digest(source), files=digests_of(source))


def test_a_source_that_is_as_it_was_goes_on(folder: Path):
    before = begun(folder)

    assert changed_files(before, read(folder), travels=True) == []
    assert source_changes(before, read(folder), [], travels=True) == []


def test_what_is_changed_or_gone_is_named_and_what_a_run_may_have_written_is_not(folder: Path):
    before = begun(folder)
    (folder / "config.json").write_text("[]")
    (folder / "gone.txt").unlink()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "train.pyc").touch()
    (folder / "model.keras").touch()

    now = read(folder)

    assert changed_files(before, now, travels=False) == ["config.json", "gone.txt"]
    # Where each job takes the source along, no run writes there.
    assert changed_files(before, now, travels=True) == ["config.json", "gone.txt", "model.keras"]
    assert source_changes(before, now, ["config.json"], travels=True) == []


@pytest.mark.parametrize("name", ["train.py", "lib.py"])
def test_a_python_file_that_has_changed_or_is_new_ends_the_study(folder: Path, name: str):
    before = begun(folder)
    (folder / name).write_text("print('new')\n")

    now = read(folder)
    changed = changed_files(before, now, travels=True)
    (found,) = source_changes(before, now, changed, travels=True)

    assert (found.rule, found.path) == ("scaling-another", "the script's Python files")
    assert found.found == f"changed since the study began: {name}"
    assert "undo the change" in found.fix


def test_a_python_file_that_a_run_may_have_written_is_named_and_ends_nothing(folder: Path):
    before = begun(folder)
    (folder / "work_dirs").mkdir()
    (folder / "work_dirs" / "config.py").write_text("lr = 0.1\n")

    changed = changed_files(before, read(folder), travels=False)
    assert changed == ["work_dirs/config.py"]
    assert source_changes(before, read(folder), changed, travels=False) == []

    (folder / "train.py").write_text("print('new')\n")
    changed = changed_files(before, read(folder), travels=False)
    (found,) = source_changes(before, read(folder), changed, travels=False)
    assert found.found == "changed since the study began: train.py"


def test_a_script_that_is_gone_is_told_by_its_name(folder: Path):
    before = begun(folder)
    (folder / "train.py").unlink()

    (found,) = source_changes(before, read(folder), ["train.py"], travels=False)

    assert (found.rule, found.path) == ("scaling-another", "train.py")
    assert found.found == "deleted since the study began"


def test_of_large_files_only_the_names_are_known(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contents, "MOST_BYTES", 20)
    (folder / "large.bin").write_bytes(b"1" * 21)
    before = begun(folder)
    (folder / "large.bin").write_bytes(b"2" * 22)
    (folder / "config.json").write_bytes(b"3" * 23)

    assert changed_files(before, read(folder), travels=True) == ["config.json"]
    (folder / "large.bin").unlink()
    assert "large.bin" in changed_files(before, read(folder), travels=True)


def test_of_too_many_files_none_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contents, "MOST_FILES", 2)
    before = begun(folder)
    (folder / "train.py").write_text("print('new')\n")

    assert changed_files(before, read(folder), travels=True) == []
    (found,) = source_changes(before, read(folder), [], travels=False)
    assert found.found == "changed since the study began"

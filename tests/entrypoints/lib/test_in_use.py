"""Whose a checkpoint folder is: a run that lives keeps it, one that was killed does not."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from entrypoints.lib import in_use
from entrypoints.lib.errors import TrainingError
from entrypoints.lib.in_use import FILE, InUse
from entrypoints.lib.places import Place
from tests.places import ENTRYPOINTS

# Takes the folder, says so, and leaves it once its standard input ends.
OWNER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from lib.in_use import InUse
from lib.places import Place
found = InUse(Place(sys.argv[2], "--checkpoint-dir"), os.environ, float(sys.argv[3]))
if sys.argv[4:]:
    found._about["processes"] = sys.argv[4]
found.take()
print("taken", flush=True)
sys.stdin.read()
found.leave()
"""
SHORT = 0.1  # seconds between two signs of life


class Owner:
    def __init__(self, folder: Path, between: float = 60.0, machine: str = ""):
        words = [str(ENTRYPOINTS), str(folder), str(between), *([machine] if machine else [])]
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, *words],
            env={**os.environ, "LAUNCH_JOB": "digits-1f2e3d4c-1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        assert self.process.stdout.readline() == "taken\n"

    def end(self, how: int = 0) -> None:
        """By a signal, else by itself; a second call changes nothing."""
        if how:
            self.process.send_signal(how)
        self.process.communicate(timeout=60)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    found = Owner(tmp_path)
    yield found
    found.end(signal.SIGKILL)


def ours(folder: Path, between: float = 60.0) -> InUse:
    return InUse(Place(str(folder), "--checkpoint-dir"), {"LAUNCH_JOB": "second"}, between)


def said(folder: Path) -> Any:
    return json.loads((folder / FILE).read_text())


def test_a_run_that_lives_on_this_machine_keeps_its_folder(owner: Owner, tmp_path: Path):
    pid = owner.process.pid
    told = rf"\(--checkpoint-dir\): another run .* digits-1f2e3d4c-1 on .* \(process {pid}, since"
    with pytest.raises(TrainingError, match=told) as caught:
        ours(tmp_path).take()
    assert "give another folder with --checkpoint-dir" in str(caught.value)
    assert said(tmp_path)["job"] == "digits-1f2e3d4c-1"


def test_a_run_that_ended_or_was_killed_does_not(owner: Owner, tmp_path: Path):
    owner.end(signal.SIGKILL)
    assert (tmp_path / FILE).exists()
    second = ours(tmp_path)
    second.take()
    assert said(tmp_path)["job"] == "second"
    second.leave()
    second.leave()
    third = Owner(tmp_path)
    third.end()
    assert list(tmp_path.iterdir()) == []


def test_of_a_run_elsewhere_a_sign_of_life_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    elsewhere = Owner(tmp_path, SHORT, "another machine")
    try:
        with pytest.raises(TrainingError, match="another run writes its checkpoints there"):
            ours(tmp_path, between=20.0).take()
        assert "was in use by digits-1f2e3d4c-1" in capsys.readouterr().out
    finally:
        elsewhere.end(signal.SIGKILL)
    second = ours(tmp_path, SHORT)
    second.take()
    second.leave()


def test_one_that_was_silent_for_hours_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    about = {"run": "x", "processes": "another machine", "seen": 1_000_000.0, "begun": 1e300}
    (tmp_path / FILE).write_text(json.dumps(about))
    second = ours(tmp_path)
    second.take()
    second.leave()
    assert capsys.readouterr().out == ""


def test_an_earlier_start_of_the_same_job_is_over(tmp_path: Path):
    environment = {"LAUNCH_JOB": "digits-1", "CLOUD_ML_JOB_ID": "123"}
    first, second = (InUse(Place(str(tmp_path), "x"), environment) for _ in range(2))
    first._about["processes"] = "another machine"
    first.take()
    second.take()
    second.leave()
    first.leave()


def test_a_run_that_slept_while_another_took_its_folder_writes_nothing_more(tmp_path: Path):
    first, second = ours(tmp_path), ours(tmp_path)
    first.take()
    first.check()
    second._about["process"] = first._about["process"]
    second.take()
    with pytest.raises(TrainingError, match="another run now writes its checkpoints there: second"):
        first.check()
    first.leave()
    second.check()
    second.leave()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seen": "x", "begun": []}'])
def test_a_damaged_file_keeps_nobody_out(tmp_path: Path, text: str):
    (tmp_path / FILE).write_text(text)
    second = ours(tmp_path)
    second.take()
    second.leave()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: Any) -> None:
        raise PermissionError("no hard links")

    monkeypatch.setattr(os, "link", refused)
    first = ours(tmp_path)
    first.take()
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    first.leave()


def test_a_folder_that_the_service_copies_has_no_such_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(in_use, "COPIED", str(tmp_path))
    only = ours(tmp_path)
    only.take()
    assert list(tmp_path.iterdir()) == []
    only.check()
    only.leave()
    (tmp_path / "below").mkdir()
    ours(tmp_path / "below").take()
    assert list((tmp_path / "below").iterdir()) == []


@pytest.mark.parametrize(
    ("first", "second", "goes_on"),
    [
        ({"CLOUD_ML_JOB_ID": "7"}, {"CLOUD_ML_JOB_ID": "7"}, True),
        ({"CLOUD_ML_JOB_ID": "7"}, {"CLOUD_ML_JOB_ID": "8"}, False),
        (
            {"CLOUD_ML_JOB_ID": "7", "CLOUD_ML_TRIAL_ID": "1"},
            {"CLOUD_ML_JOB_ID": "7", "CLOUD_ML_TRIAL_ID": "2"},
            False,
        ),
        ({"TRAINING_JOB_NAME": "train-1"}, {"TRAINING_JOB_NAME": "train-1"}, True),
    ],
)
def test_a_service_has_one_start_of_a_job_at_a_time(
    tmp_path: Path, first: dict[str, str], second: dict[str, str], goes_on: bool
):
    place = Place(str(tmp_path), "--checkpoint-dir")
    before, after = InUse(place, first, SHORT), InUse(place, second, 20.0)
    before._about["processes"] = "another machine"
    before.take()
    if goes_on:
        after.take()
        assert said(tmp_path)["run"] == after._about["run"]
    else:
        with pytest.raises(TrainingError, match="another run writes"):
            after.take()
    for one in (after, before):
        one.leave()


def test_a_process_that_the_system_hides_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = ours(tmp_path)
    first._about["process"] = "4000000 17"
    first.take()

    def kill(pid: int, number: int) -> None:
        assert (pid, number) == (4000000, 0)
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    with pytest.raises(TrainingError, match="another run writes"):
        ours(tmp_path).take()
    first.leave()


def test_a_file_that_goes_while_it_is_read_was_its_owners_last_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / FILE).write_text("{}")

    def read(path: str) -> bytes:
        os.remove(path)
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(in_use.storage, "read", read)
    assert ours(tmp_path)._read() is None


def attempt(folder: str, start: Any, end: Any, results: Any) -> None:
    start.wait()
    try:
        found = ours(Path(folder))
        found.take()
        results.put("taken")
        end.wait()
        found.leave()
    except TrainingError:
        results.put("refused")


def test_of_several_that_begin_at_once_one_has_it(tmp_path: Path):
    fork = multiprocessing.get_context("fork")
    start, end, results = fork.Barrier(4), fork.Event(), fork.Queue()
    processes = [
        fork.Process(target=attempt, args=(str(tmp_path), start, end, results)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    found = sorted(results.get(timeout=60) for _ in processes)
    end.set()
    for process in processes:
        process.join(60)
    assert found == ["refused"] * 3 + ["taken"]
    assert list(tmp_path.iterdir()) == []

"""The program as a user starts it, with worker processes, and however it is ended."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import processes
from tests.entrypoints.lib.conversion import places
from tests.selection import storm

pytestmark = pytest.mark.processes

KILLS = storm(20, 4)
# Long enough to be killed in the middle.
WORK = (*places.FULL, "--copies", "12", "--workers", "2")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return places.make_pictures(tmp_path_factory.mktemp("pictures") / "images", 96)


@pytest.fixture(scope="module")
def undisturbed(images: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of a conversion in one process."""
    out = tmp_path_factory.mktemp("undisturbed")
    places.convert(images, out, *WORK)
    return places.files(out)


class Running:
    """A conversion in a process group of its own."""

    def __init__(self, images: Path, out: Path, *argv: str, **given: Any) -> None:
        self.process = subprocess.Popen(
            places.command(images, out, *argv),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **given,
        )

    def events(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        return (json.loads(line) for line in self.process.stdout)

    def until(self, kind: str) -> dict[str, Any]:
        return next(event for event in self.events() if event["event"] == kind)

    def end(self) -> tuple[int, list[dict[str, Any]], str]:
        """Its exit code, the events that were left, and stderr."""
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()], err


def test_worker_processes_give_the_same_files_as_one(
    images: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    done = places.program(images, tmp_path / "out", *WORK)
    said = places.events_of(done)
    assert done.returncode == 0
    assert [event["event"] for event in said.events] == [
        *("start", "ready"),
        *["progress"] * said.of("start")[0]["tasks"],
        "result",
    ]
    assert said.of("progress")[-1]["pictures_done"] == 96
    assert said.of("progress")[-1]["seconds_left"] == 0
    assert places.files(tmp_path / "out") == undisturbed


def test_killed_at_any_moment_it_goes_on_and_ends_with_the_same_files(
    images: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    draw = random.Random(13)
    out = tmp_path / "out-0"
    for number in range(KILLS):
        running = Running(images, out, *WORK)
        for _ in range(draw.randrange(6)):
            if not next(running.events(), None):
                break
        try:
            running.process.wait(draw.random() * 0.2)
        except subprocess.TimeoutExpired:
            running.process.kill()
        running.end()
        if (out / "manifest.json").exists():
            assert places.files(out).items() >= undisturbed.items()
            out = tmp_path / f"out-{number + 1}"
    done = places.program(images, out, *WORK)
    assert done.returncode == 0
    assert places.files(out) == undisturbed


def test_an_interruption_is_one_line_and_the_same_command_goes_on(
    images: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    running = Running(images, tmp_path / "out", *WORK)
    running.until("progress")
    os.killpg(running.process.pid, signal.SIGINT)
    code, events, err = running.end()
    assert (code, err) == (130, "")
    assert events[-1] == {
        "event": "error",
        "message": "interrupted; what is done is kept: run the same command to resume",
        "interrupted": True,
    }
    done = places.program(images, tmp_path / "out", *WORK)
    assert places.events_of(done).of("start")[0]["tasks_done"] > 0
    assert places.files(tmp_path / "out") == undisturbed


def test_a_worker_that_is_killed_is_one_line(images: Path, tmp_path: Path) -> None:
    running = Running(images, tmp_path / "out", *WORK)
    running.until("ready")
    workers = [pid for pid, text in processes.descendants().items() if "spawn_main" in text]
    os.kill(workers[0], signal.SIGKILL)
    code, events, err = running.end()
    assert (code, err) == (1, "")
    assert "a worker process was killed" in events[-1]["message"]
    assert "fewer than 2 --workers" in events[-1]["message"]


def test_it_ends_when_whoever_started_it_is_gone(images: Path, tmp_path: Path) -> None:
    argv = (*WORK, "--until-stdin-ends")
    running = Running(images, tmp_path / "out", *argv, stdin=subprocess.PIPE)
    running.until("ready")
    code, _, _ = running.end()  # closes stdin
    assert code == -signal.SIGKILL


def test_it_ends_when_nobody_reads_what_it_says(images: Path, tmp_path: Path) -> None:
    running = Running(images, tmp_path / "out", *WORK)
    running.until("start")
    assert running.process.stdout is not None
    running.process.stdout.close()
    running.process.stdout = None
    _, err = running.process.communicate(timeout=120)
    assert (running.process.returncode, err) == (1, "")


def test_errors_are_one_line_for_people_and_for_programs(images: Path, tmp_path: Path) -> None:
    gone = places.program(tmp_path / "gone", tmp_path / "out")
    (event,) = places.events_of(gone).events
    assert (gone.returncode, event["interrupted"]) == (1, False)
    assert event["message"].endswith(
        "No such file or directory; expected a folder of class folders"
    )
    wrong = places.program(images, tmp_path / "out", "--size", "big")
    (event,) = places.events_of(wrong).events
    assert wrong.returncode == 2
    assert event["message"].startswith("argument --size: big, expected WIDTHxHEIGHT")
    plain = subprocess.run(
        [*places.command(images, images)[:-1], "plain"], capture_output=True, text=True
    )
    assert plain.stdout == ""
    assert plain.stderr.startswith("convert_images.py: error: ")
    assert len(plain.stderr.splitlines()) == 1

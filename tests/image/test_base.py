"""Making the base image without a registry."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from launchers.core.model.problems import EXIT_INTERRUPTED
from launchers.docker.engine import engine
from launchers.image.base import ROOM_BYTES, missing
from launchers.image.build import CPU_BASE
from tests.cli.command import Launch

ALL = {"debootstrap": True, "unshare": True, "keyring": True}


def test_a_machine_with_everything_lacks_nothing() -> None:
    assert missing(0, ALL, ROOM_BYTES) == []


@pytest.mark.parametrize(
    ("euid", "has", "free", "rule", "fix"),
    [
        (1000, {}, ROOM_BYTES, "base-root", "sudo launch image base"),
        (0, {"debootstrap": False}, ROOM_BYTES, "base-debootstrap", "apt-get install debootstrap"),
        (0, {"unshare": False}, ROOM_BYTES, "base-unshare", "apt-get install util-linux"),
        (0, {"keyring": False}, ROOM_BYTES, "base-keyring", "debian-archive-keyring"),
        (0, {}, ROOM_BYTES - 1, "base-disk", "TMPDIR"),
    ],
)
def test_what_is_missing_is_one_line_with_its_fix(
    euid: int, has: dict[str, bool], free: int, rule: str, fix: str
) -> None:
    (problem,) = missing(euid, {**ALL, **has}, free)

    assert problem.rule == rule
    assert fix in problem.fix
    assert "\n" not in str(problem)


def test_all_that_is_missing_is_told_at_once() -> None:
    assert len(missing(1000, dict.fromkeys(ALL, False), 0)) == 5


@pytest.mark.docker
def test_an_interruption_leaves_no_folder_no_process_and_the_image_as_it_was(
    launch: Launch, tmp_path: Path
) -> None:
    client = engine()
    before = client.images.get(CPU_BASE).id
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = launch.start("image", "base", "--again", TMPDIR=str(temporary))
    deadline = time.monotonic() + 60
    # debootstrap is at work once it has written something.
    while not list(temporary.glob("launch-base-*/root/*")) and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    began = list(temporary.iterdir())

    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]

    assert process.returncode == EXIT_INTERRUPTED
    assert "interrupted" in said
    assert began
    assert list(temporary.iterdir()) == []
    assert not _commands_naming(str(temporary))
    assert client.images.get(CPU_BASE).id == before
    client.close()


def _commands_naming(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        found += [command] if text in command else []
    return found

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entrypoints.lib import storage
from tests.places import ENTRYPOINTS

# Writes more than it may: the kernel either refuses the write or kills the process in the middle.
WRITER = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
from lib import storage
signal.signal(signal.SIGXFSZ, signal.SIG_DFL if sys.argv[3] == "killed" else signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    storage.write_whole(sys.argv[2], b"new" * 100_000)
except OSError as error:
    sys.exit(7)
"""


def write_too_much(path: Path, how: str) -> int:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert limit[0] == resource.RLIM_INFINITY or limit[0] > 1_000_000
    command = [sys.executable, "-c", WRITER, str(ENTRYPOINTS), str(path), how]
    # No core file of a process that is killed on purpose.
    return subprocess.run(
        command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ).returncode


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    storage.write_whole(str(path), b"old")
    storage.write_whole(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_write_for_which_there_is_no_room_leaves_the_old_file_and_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    assert write_too_much(path, "refused") == 7
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_process_killed_while_it_writes_leaves_the_old_file_and_the_next_start_cleans_up(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    assert write_too_much(path, "killed") == -signal.SIGXFSZ
    assert path.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 2
    storage.remove_unfinished(str(tmp_path))
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path: Path) -> None:
    storage.prepare_folder(str(tmp_path / "a" / "b"))
    assert os.listdir(tmp_path / "a" / "b") == []


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(lambda folder: folder / "file" / "below", id="below a file"),
        pytest.param(lambda folder: folder / "file", id="a file"),
        pytest.param(lambda folder: Path("/proc/nowhere"), id="read-only"),
    ],
)
def test_a_folder_that_cannot_be_written_is_an_error_at_once(
    tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"\[Errno"):
        storage.prepare_folder(str(place(tmp_path)))


def test_names_of_a_folder_that_is_not_there_are_none(tmp_path: Path) -> None:
    assert storage.names(str(tmp_path / "absent")) == []


@pytest.mark.horovod
def test_an_address_with_a_scheme_does_what_a_folder_does(tmp_path: Path, tensorflow: Any) -> None:
    folder = f"file://{tmp_path}/bucket/job"
    assert storage.names(folder) == []
    storage.prepare_folder(folder)
    assert storage.names(folder) == []
    path = storage.join(folder, "file")
    storage.write_whole(path, b"old")
    storage.write_whole(path, b"new")
    (tmp_path / "bucket/job/.file.1.unfinished").touch()
    storage.remove_unfinished(folder)
    assert storage.names(folder) == ["file"]
    assert storage.read(path) == b"new"
    assert storage.free_bytes(folder) is None
    storage.remove(path)
    assert storage.names(folder) == []


@pytest.mark.horovod
@pytest.mark.parametrize("address", ["file:///proc/nowhere", "nosuchscheme://bucket/folder"])
def test_an_address_that_refuses_is_the_same_error_as_a_folder_that_does(
    address: str, tensorflow: Any
) -> None:
    with pytest.raises(OSError, match=r"."):
        storage.prepare_folder(address)
    with pytest.raises(OSError, match=r"."):
        storage.write_whole(f"{address}/file", b"content")


def test_an_unfinished_file_that_is_gone_meanwhile_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "names", lambda folder: [f".gone{storage.UNFINISHED}"])
    storage.remove_unfinished(str(tmp_path))


def test_a_new_file_replaces_none(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert storage.write_new(str(path), b"first")
    assert not storage.write_new(str(path), b"second")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]

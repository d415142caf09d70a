"""The stream's bytes, read back by Python's own tarfile."""

from __future__ import annotations

import io
import tarfile

import pytest

from launchers.core.source import tar_stream


def stream(*entries: tuple[str, bytes, bool, str]) -> bytes:
    data = b"".join(
        tar_stream.header(name, len(content), executable=executable, link=link)
        + tar_stream.padded(content)
        for name, content, executable, link in entries
    )
    return data + tar_stream.end(len(data))


NAMES = ["train.py", "d" * 99, "d" * 100, "d" * 101, "lib/" + "d" * 300, "ü/✓.py", "a b/c"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_length_and_alphabet_comes_back(name: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(stream((name, b"12", False, "")))) as archive:
        (entry,) = archive.getmembers()
        assert entry.name == name
        assert archive.extractfile(entry).read() == b"12"  # type: ignore[union-attr]


@pytest.mark.parametrize("target", NAMES)
def test_a_link_keeps_its_target(target: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(stream(("here", b"", False, target)))) as archive:
        (entry,) = archive.getmembers()
        assert entry.issym()
        assert entry.linkname == target


def test_no_time_owner_or_umask_is_in_it() -> None:
    data = stream(("a", b"x" * 513, False, ""), ("b", b"", True, ""))

    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        first, second = archive.getmembers()
    assert (first.mode, second.mode) == (0o644, 0o755)
    assert {(one.mtime, one.uid, one.gid, one.uname) for one in (first, second)} == {(0, 0, 0, "")}
    assert first.size == 513


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 9000, 10240])
def test_a_stream_ends_with_two_empty_blocks_and_a_whole_record(size: int) -> None:
    data = stream(("a", b"x" * size, False, ""))

    assert len(data) % 10240 == 0
    assert data.endswith(bytes(1024))

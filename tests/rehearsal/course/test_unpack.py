"""Nothing that comes out of a container leaves its folder."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from launchers.rehearsal.course.unpack import differences, unpack

Member = tuple[str, bytes, str]  # name, type, content or target


def stream(members: Sequence[Member]) -> Iterator[bytes]:
    """The engine's stream of a folder, in small pieces."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind, text in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.mtime = kind, 0o4777, 1000
            if kind == tarfile.REGTYPE:
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))
            else:
                member.linkname = text
                archive.addfile(member)
    data = buffer.getvalue()
    yield from (data[start : start + 100] for start in range(0, len(data), 100))


def file(name: str, text: str = "x") -> Member:
    return name, tarfile.REGTYPE, text


def link(name: str, target: str) -> Member:
    return name, tarfile.SYMTYPE, target


def everything_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_files_and_folders_come_out_without_the_engines_own_first_folder(tmp_path: Path) -> None:
    found = unpack(
        stream([("model/", tarfile.DIRTYPE, ""), file("model/a", "1"), file("model/deep/b", "22")]),
        tmp_path / "out",
    )
    assert (tmp_path / "out/deep/b").read_text() == "22"
    assert everything_below(tmp_path) == {"out/a", "out/deep/b"}
    assert (found.size, found.refused) == (3, [])


def test_no_file_is_readable_by_others_or_keeps_a_set_id_bit(tmp_path: Path) -> None:
    unpack(stream([file("model/a")]), tmp_path / "out")
    assert (tmp_path / "out/a").stat().st_mode & 0o7077 == 0


@pytest.mark.parametrize(
    "members",
    [
        [file("model/../../evil")],
        [file("../evil")],
        [file("/evil")],
        [file("model/../evil")],
        [link("model/a", "/etc/passwd")],
        [link("model/a", "../../evil")],
        [link("model/a", "..")],
        [link("model/here", "."), link("model/b", "here/../../evil")],
        [link("model/a", "b/../../evil"), link("model/b", ".")],
        [("model/a", tarfile.LNKTYPE, "/etc/passwd")],
        [("model/a", tarfile.LNKTYPE, "model/../../evil")],
        [("model/a", tarfile.FIFOTYPE, "")],
        [("model/a", tarfile.CHRTYPE, "")],
    ],
)
def test_what_would_lead_out_stays_in_the_container_and_is_told(
    members: list[Member], tmp_path: Path
) -> None:
    (tmp_path / "evil").write_text("untouched")
    target = tmp_path / "results" / "out"
    found = unpack(stream([*members, file("model/good")]), target)
    assert found.refused
    assert (tmp_path / "evil").read_text() == "untouched"
    assert (target / "good").read_text() == "x"
    root = os.path.realpath(target)
    for path in target.rglob("*"):
        assert os.path.realpath(path).startswith(root), path
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"out"}


def test_a_file_is_never_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    found = unpack(stream([link("model/d", str(outside)), file("model/d/f")]), tmp_path / "out")
    assert list(outside.iterdir()) == []
    assert (tmp_path / "out/d/f").read_text() == "x"
    assert len(found.refused) == 1


def test_a_link_inside_the_folder_is_kept(tmp_path: Path) -> None:
    found = unpack(
        stream([link("model/snapshots/w", "../blobs/1"), file("model/blobs/1", "weights")]),
        tmp_path / "out",
    )
    assert (tmp_path / "out/snapshots/w").read_text() == "weights"
    assert found.refused == []


def test_a_second_name_of_a_file_becomes_a_copy(tmp_path: Path) -> None:
    unpack(
        stream([file("model/a", "1"), ("model/b", tarfile.LNKTYPE, "model/a")]), tmp_path / "out"
    )
    assert (tmp_path / "out/b").read_text() == "1"


def test_differences_between_hosts_are_told_by_kind() -> None:
    hosts = {
        "algo-1": {"model.keras": "1", "log": "a"},
        "algo-2": {"log": "b", "extra": "3"},
        "algo-3": {"model.keras": "1", "log": "a"},
    }
    assert differences(hosts) == [
        "algo-2 against algo-1: extra only there; model.keras not there; log with other content"
    ]

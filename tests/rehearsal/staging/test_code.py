"""The code that containers get for a document from elsewhere."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from launchers.core.model.problems import LaunchError
from launchers.rehearsal.staging.code import archive_of_source, carries_digest, with_code
from tests.refusals import refused
from tests.rehearsal.boxes import box


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "lib").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)\n")
    (folder / "lib/data.py").write_text("")
    (folder / ".env").write_text("NAME=value\n")
    return folder


def archive(path: Path, *members: tarfile.TarInfo, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as made:  # type: ignore[call-overload]
        for member in members:
            made.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    made.size = 1 if kind == tarfile.REGTYPE else 0
    return made


def names(path: Path) -> set[str]:
    with tarfile.open(path, "r:gz") as found:
        return set(found.getnames())


def test_a_folder_of_a_foreign_document_lies_at_the_archives_root(
    tmp_path: Path, work: Path
) -> None:
    made = archive_of_source(source(tmp_path), work, guarded=False)
    assert names(made) == {"train.py", "lib/data.py"}


def test_a_folder_of_a_guarded_document_is_bundled_with_the_guard(
    tmp_path: Path, work: Path
) -> None:
    made = archive_of_source(source(tmp_path), work, guarded=True)
    assert {"guard.py", "agent.py", "src/train.py", "src/lib/data.py"} <= names(made)


def test_a_link_out_of_the_source_stays_behind(tmp_path: Path, work: Path) -> None:
    folder = source(tmp_path)
    (folder / "out").symlink_to("/etc/passwd")
    assert "out" not in names(archive_of_source(folder, work, guarded=False))


def test_an_archive_is_served_as_it_is(tmp_path: Path, work: Path) -> None:
    given = archive(tmp_path / "sourcedir.tar.gz", member("train.py"))
    assert archive_of_source(given, work, guarded=False) == given


def test_a_plain_tar_is_compressed_as_the_toolkit_wants_it(tmp_path: Path, work: Path) -> None:
    given = archive(tmp_path / "source.tar", member("train.py"), mode="w")
    assert names(archive_of_source(given, work, guarded=False)) == {"train.py"}


@pytest.mark.parametrize(
    "bad",
    [
        member("../evil"),
        member("a/../../evil"),
        member("/evil"),
        member("a", tarfile.SYMTYPE, "/etc/passwd"),
        member("a/b", tarfile.SYMTYPE, "../../evil"),
        member("a", tarfile.LNKTYPE, "../evil"),
    ],
)
def test_an_archive_whose_members_lead_out_is_refused(
    bad: tarfile.TarInfo, tmp_path: Path, work: Path
) -> None:
    given = archive(tmp_path / "a.tar.gz", member("train.py"), bad)
    with pytest.raises(LaunchError, match="leads out of its folder"):
        archive_of_source(given, work, guarded=False)


@pytest.mark.parametrize(
    ("name", "guarded", "told"),
    [
        ("absent", False, "no such file or folder"),
        ("text", False, "neither a folder nor a tar"),
        ("a.tar.gz", True, "no guard.py at its root"),
    ],
)
def test_what_is_no_source_is_refused(
    name: str, guarded: bool, told: str, tmp_path: Path, work: Path
) -> None:
    (tmp_path / "text").write_text("no archive")
    archive(tmp_path / "a.tar.gz", member("train.py"))
    with refused("rehearsal-source", told):
        archive_of_source(tmp_path / name, work, guarded)


def test_a_document_that_names_another_bundle_is_noticed(tmp_path: Path, work: Path) -> None:
    made = archive_of_source(source(tmp_path), work, guarded=True)
    with gzip.open(made) as stream:
        digest = hashlib.sha256(stream.read()).hexdigest()
    assert carries_digest(f"s3://bucket/code/{digest}/sourcedir.tar.gz", made)
    assert carries_digest("s3://bucket/sourcedir.tar.gz", made)
    assert not carries_digest(f"s3://bucket/code/{'0' * 64}/sourcedir.tar.gz", made)


def test_an_archive_lies_where_the_contract_wants_it(tmp_path: Path) -> None:
    place = "/opt/ml/input/data/code/sourcedir.tar.gz"
    hosts = [box(1, "", code=place), box(2, "", code="s3://bucket/key")]
    first, second = with_code(hosts, tmp_path / "a.tar.gz")
    assert first.files == {place: tmp_path / "a.tar.gz"}
    assert second.files == {}

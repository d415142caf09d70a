"""Folders of this machine."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from launchers.core import paths
from launchers.core.model.problems import LaunchError
from launchers.core.paths import (
    at_home,
    entrypoints_folder,
    images_folder,
    straight,
    templates_folder,
    unwritable,
    working_folder,
    writing,
)
from tests.refusals import refused


def test_a_folder_that_cannot_be_written_is_told_in_the_systems_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LaunchError) as caught, writing(tmp_path, "Take another"):
        (tmp_path / "file" / "below").write_text("")

    (problem,) = caught.value.problems
    assert (problem.path, problem.found) == (str(tmp_path), "Not a directory")
    assert (problem.fix, problem.rule) == ("Take another", "folder-unwritable")
    assert unwritable("x", OSError(errno.ENOSPC, "")).found == f"[Errno {errno.ENOSPC}] "
    by_number = OSError(errno.EBADF, "no such file descriptor", 7)
    assert unwritable("x", by_number).found == "no such file descriptor"


def test_a_place_has_one_name_and_links_keep_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real/deep")
    monkeypatch.chdir(tmp_path / "real")
    assert straight(Path("train.py")) == tmp_path / "real" / "train.py"
    assert straight(Path("deep/../train.py")) == tmp_path / "real" / "train.py"
    assert straight(Path("../real/../link/train.py")) == tmp_path / "link" / "train.py"
    # As the system has it: behind a link `..` is above its target.
    assert straight(Path("../link/../train.py")) == tmp_path / "real" / "train.py"
    assert straight(Path("/../..")) == Path("/")


def test_a_home_folder_that_nobody_knows_is_a_name_like_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert at_home("~/train.py") == Path("/home/me/train.py")
    assert at_home("~no-such-user/train.py") == Path("~no-such-user", "train.py")


def test_without_a_working_folder_the_nearest_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "a b" / "gone"
    gone.mkdir(parents=True)
    monkeypatch.chdir(gone)
    assert working_folder() == gone
    gone.rmdir()
    for said, place in ((str(gone), f"'{gone.parent}'"), ("", str(Path.home()))):
        monkeypatch.setenv("PWD", said)
        with pytest.raises(LaunchError) as caught:
            working_folder()
        (problem,) = caught.value.problems
        assert problem.rule == "working-folder"
        assert problem.fix == f"go to one that exists: cd {place}"


def test_a_shipped_folder_lies_in_the_package_or_beside_it_or_is_told_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "launchers"
    monkeypatch.setattr(paths, "_PACKAGE", package)
    beside, within = tmp_path / "templates", package / "_shipped" / "entrypoints"
    for folder in (beside, within):
        folder.mkdir(parents=True)

    assert (templates_folder(), entrypoints_folder()) == (beside, within)
    with refused("installation-incomplete", f"{package}: no folder infra/images"):
        images_folder()

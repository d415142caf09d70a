"""Folders of this machine."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.paths import unwritable, writing


def test_a_folder_that_cannot_be_written_is_told_in_the_systems_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LaunchError) as caught, writing(tmp_path, "Take another"):
        (tmp_path / "file" / "below").write_text("")

    (problem,) = caught.value.problems
    assert (problem.path, problem.found) == (str(tmp_path), "Not a directory")
    assert (problem.fix, problem.rule) == ("Take another", "folder-unwritable")
    assert unwritable("x", OSError(errno.ENOSPC, "")).found == f"[Errno {errno.ENOSPC}] "

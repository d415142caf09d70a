"""The Python that reads pictures and Parquet."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from launchers.data import environment
from launchers.data.environment import python_of, require
from tests.refusals import refused


def test_it_is_the_launchers_own_unless_another_is_named(tmp_path: Path):
    assert python_of(None) == os.path.abspath(sys.executable)
    assert python_of(str(tmp_path)) == str(tmp_path / "bin" / "python")
    assert os.access(python_of("sh"), os.X_OK)


def test_what_is_missing_is_named_with_the_line_that_installs_it():
    with refused("data-packages", match=r'launch-training\[dask\]"$') as caught:
        require(python_of(None), ("json", "no_such_engine"), "dask")
    assert "no no_such_engine in " in str(caught.value)


@pytest.mark.processes
def test_another_python_is_asked(tmp_path: Path):
    other = tmp_path / "python"
    other.symlink_to(os.path.realpath(sys.executable))
    require(str(other), ("json",), "data")
    with refused("data-packages", match=f"{other} -m pip install no_such_engine"):
        require(str(other), ("no_such_engine",), "data")


@pytest.mark.parametrize("name", ["nosuch", "folder", "fails"])
def test_a_python_that_cannot_be_run_is_refused(name: str, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "fails").write_text("#!/bin/sh\necho it broke >&2\nexit 3\n")
    (tmp_path / "fails").chmod(0o755)
    with refused("data-python") as caught:
        require(str(tmp_path / name), ("json",), "data")
    assert name != "fails" or "it broke" in str(caught.value)


def test_every_engine_of_the_converter_is_known_here():
    from lib.conversion import engines

    assert set(environment.ENGINES) == set(engines.NAMES)

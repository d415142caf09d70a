"""Horovod is compiled once: the kept wheel fits exactly, is whole, and is what the key says."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import horovod_wheel, locks
from infra.bootstrap.horovod_wheel import WheelKey
from tests.places import ROOT

pytestmark = pytest.mark.processes

KEY = WheelKey("0.28.1", "2.18.1", (3, 11), "x86_64-avx-glibc2.36")
WHEEL = "horovod-0.28.1-cp311-cp311-linux_x86_64.whl"
LIBRARY = "horovod/tensorflow/mpi_lib.cpython-311-x86_64-linux-gnu.so"


def write_wheel(path: Path, *names: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 1000)


class Compiler:
    """Stands for pip: notes the steps, and leaves what a build leaves in the wheel folder."""

    def __init__(self, *names: str, error: type[BaseException] | None = None):
        self.names, self.error = names, error
        self.commands: list[list[str]] = []
        self.environments: list[Mapping[str, str]] = []
        self.listed: list[list[str]] = []

    def __call__(self, title: str, command: Sequence[str], log: Path, **how: Any) -> float:
        self.commands.append(list(command))
        self.environments.append(how["environment"])
        text = Path(command[command.index("--requirement") + 1]).read_text()
        self.listed.append([package.name for package in locks.parse(text)])
        if "--wheel-dir" in command:
            folder = Path(command[command.index("--wheel-dir") + 1])
            write_wheel(folder / WHEEL, *self.names)
            if self.error:
                raise self.error
        return 0.0


def build(compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(horovod_wheel, "run_step", compiler)
    return horovod_wheel.build(
        Path(sys.executable),
        KEY,
        tmp_path / "cache",
        tmp_path / "logs",
        tmp_path / "scratch",
        locks.read(ROOT, locks.HOROVOD),
        [package for package in locks.read(ROOT, locks.TRAINING) if package.name == "horovod"],
    )


def test_a_built_wheel_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert horovod_wheel.cached(tmp_path / "cache", KEY) is None

    built = build(Compiler(LIBRARY), tmp_path, monkeypatch)

    assert horovod_wheel.cached(tmp_path / "cache", KEY) == built
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"horovod": "0.28.2"},
        {"tensorflow": "2.17.1"},
        {"python": (3, 12)},
        {"machine": "aarch64-glibc2.36"},
        {"controllers": ("gloo", "mpi")},
    ],
)
def test_a_wheel_for_something_else_is_not_used(change: Mapping[str, Any], tmp_path: Path) -> None:
    write_wheel(tmp_path / KEY.folder_name() / WHEEL, LIBRARY)

    assert horovod_wheel.cached(tmp_path, KEY) is not None
    assert horovod_wheel.cached(tmp_path, replace(KEY, **change)) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_build_leaves_nothing_in_the_cache(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(error):
        build(Compiler(LIBRARY, error=error), tmp_path, monkeypatch)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_copy_that_does_not_end_leaves_nothing_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OSError, match="No space left"):
        build(Compiler(LIBRARY), tmp_path, monkeypatch)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_build_without_tensorflow_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OSError, match="without TensorFlow"):
        build(Compiler("horovod/__init__.py"), tmp_path, monkeypatch)

    assert horovod_wheel.cached(tmp_path / "cache", KEY) is None


def test_a_broken_wheel_in_the_cache_is_not_used(tmp_path: Path) -> None:
    wheel = tmp_path / KEY.folder_name() / WHEEL
    write_wheel(wheel, LIBRARY)
    wheel.write_bytes(wheel.read_bytes()[:-100])

    assert horovod_wheel.cached(tmp_path, KEY) is None


def test_the_users_variables_do_not_change_what_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = ("HOROVOD_GPU_OPERATIONS", "HOROVOD_WITHOUT_GLOO", "CMAKE_GENERATOR", "MAKELEVEL")
    for name in foreign:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("MAKEFLAGS", "--jobserver-auth=3,4 -j")
    compiler = Compiler(LIBRARY)

    build(compiler, tmp_path, monkeypatch)

    environment = compiler.environments[-1]
    assert [name for name in foreign if name in environment] == []
    assert environment["MAKEFLAGS"].startswith("-j")
    assert "jobserver" not in environment["MAKEFLAGS"]
    assert environment["HOROVOD_WITH_TENSORFLOW"] == "1"
    assert environment["HOROVOD_WITH_GLOO"] == "1"
    assert environment["HOROVOD_WITHOUT_MPI"] == "1"
    assert compiler.listed[-1] == ["horovod"]
    assert all("--require-hashes" in command for command in compiler.commands)
    # pip's own cache may hold a wheel that was built without TensorFlow.
    assert "--no-cache-dir" in compiler.commands[-1]


@pytest.mark.parametrize(
    ("version", "own"),
    [("3.12.4", False), ("3.13.0", True), ("3.25.1", True), ("3.31.6", True), ("4.0.2", False)],
)
def test_a_cmake_that_cannot_build_horovod_is_not_used(
    version: str, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cmake = tmp_path / "bin" / "cmake"
    cmake.parent.mkdir()
    cmake.write_text(f"#!/bin/sh\necho 'cmake version {version}'\n")
    cmake.chmod(0o755)
    monkeypatch.setenv("PATH", str(cmake.parent))
    compiler = Compiler(LIBRARY)

    build(compiler, tmp_path, monkeypatch)

    assert ("cmake" in compiler.listed[0]) != own
    assert (compiler.environments[-1]["HOROVOD_CMAKE"] == str(cmake)) == own


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/big/cache"}, Path("/big/cache/launch/wheels")),
        ({"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache" / "launch" / "wheels"),
        ({}, Path.home() / ".cache" / "launch" / "wheels"),
    ],
)
def test_wheels_are_kept_in_the_users_cache_folder(
    environment: Mapping[str, str], expected: Path
) -> None:
    assert horovod_wheel.cache_folder(environment) == expected

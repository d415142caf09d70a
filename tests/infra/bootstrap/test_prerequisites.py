"""What is missing is named before anything is downloaded: one line each, all of them at once."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.bootstrap import prerequisites
from tests.places import ROOT

pytestmark = pytest.mark.processes

READ_BY_ANY_PYTHON = ("__init__.py", "__main__.py", "prerequisites.py")


def small_clone(folder: Path) -> Path:
    """A copy of what the bootstrap reads, without an environment."""
    folder.mkdir()
    shutil.copytree(ROOT / "infra", folder / "infra", ignore=shutil.ignore_patterns("__pycache__"))
    for file in [*ROOT.glob("requirements*.txt"), ROOT / "pyproject.toml"]:
        shutil.copy(file, folder)
    return folder


def run_goal(clone: Path, goal: str, home: Path, path: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "infra.bootstrap", goal],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_everything_missing_is_named_at_once_and_nothing_is_made(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "a clone")
    (tmp_path / "home").mkdir()
    (tmp_path / "empty").mkdir()

    ended = run_goal(clone, "environment", tmp_path / "home", str(tmp_path / "empty"))

    lines = ended.stderr.splitlines()
    assert ended.returncode == 2
    assert [line.split(":")[0] for line in lines[:-1]] == ["folder", "C++ compiler", "make"]
    assert all("install it: " in line for line in lines[1:3])
    assert lines[-1] == "nothing was downloaded or changed"
    assert not (clone / ".venv").exists()
    assert list((tmp_path / "home").iterdir()) == []


def test_a_machine_with_all_of_it_passes_the_check(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone")

    ended = run_goal(clone, "check", tmp_path, os.environ["PATH"])

    assert (ended.returncode, ended.stderr) == (0, "")
    assert not (clone / ".venv").exists()


def test_a_foreign_environment_is_named_and_left_alone(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone")
    (clone / ".venv").mkdir()
    (clone / ".venv" / "mine").write_text("mine")

    ended = run_goal(clone, "environment", tmp_path, os.environ["PATH"])

    assert ended.returncode == 2
    assert "was not made by `make`" in ended.stderr
    assert (clone / ".venv" / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("version", "others", "expected"),
    [
        ((3, 9, 2), [], ["3.9.2", "too old", "3.10 to 3.12", "make demo PYTHON=python3.11"]),
        ((3, 13, 5), [], ["3.13.5", "too new", "TensorFlow", "install", "PYTHON=python3.11"]),
        ((3, 14, 0), ["python3.10", "python3.12"], ["too new", "make demo PYTHON=python3.12"]),
    ],
)
def test_an_unsuitable_python_is_told_how_to_name_another(
    version: tuple[int, ...], others: list[str], expected: list[str]
) -> None:
    line = prerequisites.python_problem(version, "/usr/bin/python3", others)

    assert "\n" not in line
    assert [word for word in expected if word not in line] == []


@pytest.mark.parametrize("version", [(3, 10, 0), (3, 11, 9), (3, 12, 99)])
def test_a_suitable_python_passes(version: tuple[int, ...]) -> None:
    assert prerequisites.python_problem(version, "python3", []) == ""


@pytest.mark.parametrize("name", READ_BY_ANY_PYTHON)
def test_the_check_can_be_read_by_python_3_6(name: str) -> None:
    source = (ROOT / "infra" / "bootstrap" / name).read_text()

    tree = ast.parse(source, feature_version=(3, 6))

    # `from __future__ import annotations` came with 3.7; without it unquoted generics fail.
    futures = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert [node for node in futures if node.module == "__future__"] == []


@pytest.mark.parametrize(
    ("system", "libc", "expected"),
    [("Linux", "glibc", ""), ("Linux", "", "C library"), ("Darwin", "", "operating system")],
)
def test_a_machine_without_a_training_stack_is_named(system: str, libc: str, expected: str) -> None:
    assert prerequisites.platform_problem(system, libc).startswith(expected)
    assert bool(prerequisites.platform_problem(system, libc)) == bool(expected)


@pytest.mark.parametrize(
    ("absent", "named"),
    [((), []), (("pip",), []), (("ensurepip",), []), (("pip", "ensurepip"), ["pip"])],
)
def test_pip_or_ensurepip_is_enough(absent: tuple[str, ...], named: list[str]) -> None:
    has = {name: name not in absent for name in ("venv", "pip", "ensurepip")}

    lines = prerequisites.module_problems(has)

    assert [line.split(":")[0] for line in lines] == named


def test_a_compiler_that_does_not_compile_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    line = prerequisites.compiler_problem(["", "c++"])

    assert "c++ does not build a small C++17 program" in line


def test_a_working_compiler_passes() -> None:
    assert prerequisites.compiler_problem(["c++"]) == ""


@pytest.mark.parametrize("name", ["no-such-machine.invalid", "192.0.2.1"])
def test_a_host_name_that_is_not_this_machines_is_named_with_the_line_to_add(name: str) -> None:
    line = prerequisites.host_name_problem(name)

    assert f"echo '127.0.1.1 {name}'" in line
    assert "tee -a /etc/hosts" in line


def test_a_host_name_with_an_address_of_this_machine_passes() -> None:
    assert prerequisites.host_name_problem("127.0.0.1") == ""


def test_too_little_room_names_the_place_and_how_much_is_short(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free

    (line,) = prerequisites.disk_problems([("environment", str(tmp_path), free + 5 * 10**12)])

    assert str(tmp_path) in line
    assert "make room for 5000." in line


def test_what_two_purposes_need_on_one_file_system_is_added_up(tmp_path: Path) -> None:
    share = int(shutil.disk_usage(tmp_path).free * 0.75)
    first = ("environment", str(tmp_path / "not" / "yet"), share)
    second = ("download cache", str(tmp_path), share)

    assert prerequisites.disk_problems([first]) == []
    assert prerequisites.disk_problems([second]) == []
    (line,) = prerequisites.disk_problems([first, second])
    assert "environment" in line
    assert "download cache" in line

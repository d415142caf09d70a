"""What tests/selection.py arranges reaches the scheduler: run on a small suite of its own."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.processes

CONFTEST = """\
import pytest
from tests import selection

def pytest_addoption(parser):
    parser.addoption("--brief", action="store_true")

def pytest_configure(config):
    for name in ("docker", "processes", "horovod", "storm"):
        config.addinivalue_line("markers", f"{name}: starts something")

def pytest_xdist_make_scheduler(config, log):
    return selection.ByFile(config, log)

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    selection.arrange(items)
    if config.getoption("--brief"):
        selection.leave_out(config, items)

def pytest_terminal_summary(terminalreporter):
    selection.show_first_failures(terminalreporter)
"""
FILE = """\
import os
import pathlib
import pytest

def told(name):
    worker = os.environ["PYTEST_XDIST_WORKER"]
    with open(pathlib.Path(__file__).with_name("told"), "a") as file:
        file.write(f"{name} {worker}\\n")

@pytest.mark.docker
def test_with_a_container():
    told("docker")

def test_one():
    told(__name__)

def test_another():
    told(__name__)
"""

KINDS = """\
import pytest

@pytest.mark.horovod
@pytest.mark.storm
def test_a_storm_of_ranks(): pass

@pytest.mark.processes
def test_with_a_process(): pass

@pytest.mark.horovod
@pytest.mark.parametrize("number", [1, 2])
def test_with_ranks(number): pass

def test_a_unit(): pass
def test_another_unit(): pass
"""

FAILING_ONCE = """\
import pathlib

def test_disturbed():
    print("what it printed")
    again = pathlib.Path(__file__).with_name("again")
    known = again.exists()
    again.touch()
    assert known, "the first time"
"""


def run_tests(folder: Path, *options: str) -> str:
    """What pytest with two workers says of a folder's tests, all of which pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, f"--rootdir={folder}", *options],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_containers_share_a_worker_and_so_do_a_files_own_tests(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    files = [f"test_{letter}" for letter in "abcdefgh"]
    for name in files:
        (tmp_path / f"{name}.py").write_text(FILE)
    run_tests(tmp_path, "--dist", "loadgroup", "--no-loadscope-reorder")

    workers = defaultdict(set)
    for line in (tmp_path / "told").read_text().splitlines():
        name, worker = line.split()
        workers[name].add(worker)
    assert len(workers["docker"]) == 1
    assert all(len(workers[name]) == 1 for name in files)
    assert len(set.union(*workers.values())) == 2


def test_a_brief_run_has_the_unit_tests_and_of_each_file_one_that_starts_something(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(KINDS)
    assert "12 passed" in run_tests(tmp_path)
    said = run_tests(tmp_path, "--brief", "-n", "0", "-vv")
    assert "6 passed, 6 deselected" in said
    for name in ("one", "two"):
        ran = {line.split()[0] for line in said.splitlines() if line.startswith(f"test_{name}.py")}
        assert ran == {
            f"test_{name}.py::test_with_ranks[1]",
            f"test_{name}.py::test_a_unit",
            f"test_{name}.py::test_another_unit",
        }


def test_horovod_on_spark_shares_the_worker_of_containers(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "spark").mkdir()
    for letter in "abcd":
        (tmp_path / f"test_{letter}.py").write_text(FILE)
        on_spark = FILE.replace("docker", "horovod")
        (tmp_path / "spark" / f"test_{letter}_on_spark.py").write_text(on_spark)
    run_tests(tmp_path, "--dist", "loadgroup", "--no-loadscope-reorder")

    told = [*(tmp_path / "told").read_text().splitlines()]
    told += (tmp_path / "spark" / "told").read_text().splitlines()
    workers = [line.split()[1] for line in told if line.split()[0] in ("docker", "horovod")]
    assert len(workers) == 8
    assert len(set(workers)) == 1


def test_why_a_test_was_run_once_more_is_in_the_summary(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_once.py").write_text(FAILING_ONCE)
    said = run_tests(tmp_path, "--reruns", "1")
    assert "1 passed, 1 rerun" in said
    assert "test_once.py::test_disturbed, at first" in said
    assert 'assert known, "the first time"' in said
    assert "AssertionError: the first time" in said
    assert "what it printed" in said

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

def pytest_configure(config):
    config.addinivalue_line("markers", "docker: starts containers")
    config.addinivalue_line("markers", "processes: starts processes")

def pytest_xdist_make_scheduler(config, log):
    return selection.ByFile(config, log)

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    selection.arrange(items)
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


def test_containers_share_a_worker_and_so_do_a_files_own_tests(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    files = [f"test_{letter}" for letter in "abcdefgh"]
    for name in files:
        (tmp_path / f"{name}.py").write_text(FILE)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
    ended = subprocess.run(
        [*command, "--no-loadscope-reorder", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr

    workers = defaultdict(set)
    for line in (tmp_path / "told").read_text().splitlines():
        name, worker = line.split()
        workers[name].add(worker)
    assert len(workers["docker"]) == 1
    assert all(len(workers[name]) == 1 for name in files)
    assert len(set.union(*workers.values())) == 2

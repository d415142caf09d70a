"""The suite itself: what a test leaves behind is ended, and interrupts reach what tests start."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.processes

CONFTEST = """
from tests.conftest import no_process_is_left, pytest_configure, pytest_runtest_makereport
"""
# A child with a child of its own, each in a session of its own; the first one does not wait.
START = """
import pathlib, signal, subprocess

def start():
    script = 'setsid sleep 1000 & echo $! > left; setsid sleep 1000 & echo $! >> left; wait'
    subprocess.Popen(["setsid", "bash", "-c", script])
    while not pathlib.Path("left").exists() or pathlib.Path("left").read_text().count("\\n") < 2:
        pass
"""


def run(folder: Path, test: str, *before: str) -> str:
    """pytest's output about one file of tests, with what this suite does for every test."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(START + test)
    words = [*before, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=200
    ).stdout


def living(folder: Path) -> list[str]:
    return [pid for pid in (folder / "left").read_text().split() if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("failure", ["assert False", "raise SystemExit(3)", "1 / 0"])
def test_a_test_that_fails_leaves_no_process_behind(failure: str, tmp_path: Path) -> None:
    said = run(tmp_path, f"def test_it():\n    start()\n    {failure}\n")

    assert "1 failed in" in said
    assert living(tmp_path) == []


def test_a_fixture_that_fails_leaves_no_process_behind(tmp_path: Path) -> None:
    fixture = "import pytest\n@pytest.fixture\ndef broken():\n    start()\n    assert False\n"

    said = run(tmp_path, f"{fixture}def test_it(broken):\n    pass\n")

    assert "1 error in" in said
    assert living(tmp_path) == []


def test_a_test_that_passes_and_leaves_a_process_behind_is_an_error(tmp_path: Path) -> None:
    quick = "import tests.conftest\ntests.conftest.ENDING_SECONDS = 0.5\n"

    said = run(tmp_path, f"{quick}def test_it():\n    start()\n")

    assert "processes that this test left behind" in said
    assert "sleep 1000" in said
    assert living(tmp_path) == []


def test_what_a_test_starts_hears_interrupts_that_the_suite_was_started_without(
    tmp_path: Path,
) -> None:
    check = (
        "def test_it():\n"
        "    for name in ('INT', 'HUP'):\n"
        "        ended = subprocess.run(['bash', '-c', f'kill -{name} $$; sleep 0'])\n"
        "        assert ended.returncode == -getattr(signal, 'SIG' + name)\n"
    )
    deaf = ("env", "--ignore-signal=INT,HUP")

    said = run(tmp_path, check, *deaf)

    assert "1 passed in" in said, shlex.join(deaf) + said

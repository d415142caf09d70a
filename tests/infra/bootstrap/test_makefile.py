"""The Makefile's goals: listed, and clear about a Python that is not there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

# Set by make or by CI for what runs below them.
BELOW_MAKE = ("MAKE", "MFLAGS", "CI", "DOCKER", "PYTHON")


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # These tests may themselves run below `make test`.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(BELOW_MAKE)}
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    return tmp_path


def test_make_alone_lists_every_goal_for_users(clone: Path) -> None:
    listed = re.findall(r"^make ([\w-]+) +\S", make(clone).stdout, re.MULTILINE)

    phony = re.search(r"^\.PHONY: (.*)$", (clone / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert sorted([*listed, "python", "tools"]) == sorted(phony.group(1).split())


@pytest.mark.parametrize("goal", ["demo", "test", "environment", "check", "lint"])
def test_a_python_that_is_not_there_is_one_line(goal: str, clone: Path) -> None:
    ended = make(clone, goal, "PYTHON=python3.999")

    said = [line for line in ended.stderr.splitlines() if not line.startswith("make: ")]
    assert ended.returncode == 2
    assert len(said) == 1
    assert "python3.999 not found" in said[0]
    assert "make demo PYTHON=python3.11" in said[0]


@pytest.mark.parametrize(
    ("noted", "expected"),
    [(None, "python3"), ("/bin/sh", "/bin/sh"), ("/gone/python3.11", "python3")],
)
def test_the_python_of_the_first_goal_is_used_again(
    noted: str | None, expected: str, clone: Path
) -> None:
    if noted:
        (clone / ".venv").mkdir()
        (clone / ".venv" / "base-python").write_text(f"{noted}\n")

    said = make(clone, "--just-print", "environment").stdout

    assert f"{expected} -m infra.bootstrap environment" in said.splitlines()


@pytest.mark.parametrize(
    ("words", "selected"),
    [([], True), (["DOCKER=1"], False), (["CI=true"], False)],
)
def test_containers_are_left_out_only_where_nobody_asked_and_it_is_said(
    words: list[str], selected: bool, clone: Path
) -> None:
    said = make(clone, "--just-print", "test", *words).stdout.splitlines()[-1]

    assert ('-m "not docker"' in said) == selected
    assert ("without the tests that start containers" in said) == selected

"""stdout and stderr as they were found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from launchers.cli.failures import defect, report
from launchers.cli.show import streams
from launchers.cli.show.output import say, tell
from tests.places import ROOT


def test_a_stream_that_was_closed_takes_what_is_said_and_keeps_it_from_the_other(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # put back in the end
    monkeypatch.setattr(sys, "stderr", None)
    streams.make_steady()

    say("to people")
    tell("the answer")

    assert capfd.readouterr().out == "the answer\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full, a disk without room")
@pytest.mark.parametrize("words", [("machines",), ("machines", "--json"), ("explain",), ("-V",)])
@pytest.mark.processes
def test_a_stdout_that_is_full_is_told_once(tmp_path: Path, words: tuple[str, ...]):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "launchers", *words],
            cwd=ROOT,
            env={**os.environ, "LAUNCH_HOME": str(tmp_path)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith("error: stdout: No space left on device; expected room for the answer")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full, a disk without room")
@pytest.mark.parametrize(("words", "code"), [(("list",), 0), (("status", "nosuch"), 2)])
@pytest.mark.processes
def test_a_stderr_that_is_full_changes_no_exit_code(
    tmp_path: Path, words: tuple[str, ...], code: int
):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "launchers", *words],
            cwd=ROOT,
            env={**os.environ, "LAUNCH_HOME": str(tmp_path)},
            stdout=subprocess.DEVNULL,
            stderr=full,
            check=False,
        )
    assert done.returncode == code


def test_an_error_is_told_where_there_is_no_stdout(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert streams.refused_by_stdout(OSError(5, "Input/output error")) is None


def test_a_place_below_a_closed_folder_is_no_defect_of_ours(
    capsys: pytest.CaptureFixture[str],
):
    assert report(PermissionError(1, "Operation not permitted", "/closed/train.py")) == 2
    assert "[place-denied]" in capsys.readouterr().err
    assert report(PermissionError(13, "Permission denied", "/closed/train.py")) == 2
    assert capsys.readouterr().err.startswith(
        "error: /closed/train.py: Permission denied; expected a place that you have the rights for "
        "[place-denied]"
    )
    assert report(PermissionError(1, "Operation not permitted")) == 1


def test_a_credential_in_a_defect_of_ours_is_masked_where_its_text_is_cut():
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    for before in range(300, 400, 7):
        told = str(defect(RuntimeError("x" * before + " " + token)))
        assert token[:8] not in told

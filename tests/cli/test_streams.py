"""stdout and stderr as they were found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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

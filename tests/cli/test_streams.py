"""stdout and stderr as they were found."""

from __future__ import annotations

import sys

import pytest

from launchers.cli.show import streams
from launchers.cli.show.output import say, tell


def test_a_stream_that_was_closed_takes_what_is_said_and_keeps_it_from_the_other(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # put back in the end
    monkeypatch.setattr(sys, "stderr", None)
    streams.make_steady()

    say("to people")
    tell("the answer")

    assert capfd.readouterr().out == "the answer\n"

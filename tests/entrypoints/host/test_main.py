"""What an agent says where it cannot even begin."""

from __future__ import annotations

import pytest
from launch_runtime.host import main as module


def test_an_agent_that_can_start_no_thread_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "Console", refuse)
    assert module.main(["train.py"], "/nowhere") == 1
    out, err = capfd.readouterr()
    assert out.startswith("launch: this machine starts no more threads for the job (ulimit -u, or")
    assert (out.count("\n"), err) == (1, "")


def test_another_fault_of_the_agent_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("another")

    monkeypatch.setattr(module, "Console", fail)
    with pytest.raises(RuntimeError, match="another"):
        module.main(["train.py"], "/nowhere")

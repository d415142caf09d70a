"""A study's runs on this machine, where the interrupt comes at an unlucky moment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launchers.cli.studies import one_by_one
from launchers.scaling.records import Record, StudyFolder
from launchers.scaling.results import Run
from tests.scaling.made import run


@pytest.mark.parametrize(
    ("state", "kept"), [("succeeded", "succeeded"), ("failed", "failed"), ("running", "waiting")]
)
def test_an_interrupt_takes_no_run_away_that_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, kept: str
):
    waiting = run(state="waiting")
    record = Record("study", {}, "digest", "launch scaling local", "2026-01-01", runs=(waiting,))
    folder = StudyFolder(tmp_path, record)

    def until_interrupted(series: Any, planned: Any, run: Run, number: str) -> None:
        folder.put(replace(run, state=state, job="a-1"))
        raise KeyboardInterrupt

    monkeypatch.setattr(one_by_one._Series, "run", until_interrupted)
    planned = SimpleNamespace(
        size=waiting.size, repeat=waiting.repeat, plan=SimpleNamespace(world_size=1)
    )
    plan: Any = SimpleNamespace(runs=[planned])

    assert one_by_one.run_one_by_one(None, plan, folder, [waiting])  # type: ignore[arg-type]
    assert [one.state for one in StudyFolder(tmp_path).read().runs] == [kept]  # type: ignore[union-attr]

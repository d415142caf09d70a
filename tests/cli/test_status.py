"""What `launch status` calls the parts of a job that is in progress."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from launchers.cli.verbs import status
from launchers.core.model.jobs import RUNNING, JobStatus
from launchers.core.proof import expected_of


@pytest.mark.parametrize(
    ("strategy", "words"),
    [("tensorflow", "8 replicas"), ("torch", "8 ranks"), ("", "8 ranks")],
)
def test_a_job_counts_what_its_strategy_counts(
    monkeypatch: pytest.MonkeyPatch, strategy: str, words: str
) -> None:
    found = JobStatus(RUNNING, details={"world_size": 8, "strategy": strategy})
    service = SimpleNamespace(describe=lambda handle: found, newest_lines=lambda handle: ())
    chosen = SimpleNamespace(service=service, charges_money=False)
    entry = SimpleNamespace(handle=None, name="train-1", world_size=8)
    monkeypatch.setattr(status, "found_job", lambda job, region: (chosen, entry))

    said = CliRunner().invoke(status.command, ["train-1"], standalone_mode=False)

    assert said.output == f"{RUNNING}  train-1  {words}, not proven yet\n"


@pytest.mark.parametrize("named", ["tensorflow", "horovod", "unheard-of"])
def test_a_clouds_job_is_counted_as_its_document_says(named: str) -> None:
    variables = {"LAUNCH_WORLD_SIZE": "8", "LAUNCH_STRATEGY": named}
    expected = expected_of(variables)

    assert expected.strategy == ("tensorflow" if named == "tensorflow" else "")

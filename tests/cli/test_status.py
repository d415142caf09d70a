"""What `launch status` calls the parts of a job that is in progress."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from launchers.cli.jobs.lookup import found_job
from launchers.cli.show.as_json import training_as_json, training_of_json
from launchers.cli.verbs import status
from launchers.core.model.jobs import RUNNING, JobStatus
from launchers.core.output.training_progress.state import Progress
from launchers.core.proof import expected_of
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from tests.refusals import refused


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


@pytest.mark.parametrize("word", ["\udcff", "train-\udcff", "sagemaker:\udcff"])
def test_a_name_that_is_no_utf_8_is_no_jobs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, word: str
) -> None:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    Ledger().add(Entry("train-1", "local", "train", 1, 1, "{}"))
    with refused("job-unknown"):
        found_job(word, "us-east-1")


def test_lines_that_cannot_be_read_for_whatever_reason_hide_no_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def newest(handle: object) -> None:
        raise RuntimeError("an answer of another form")

    found = JobStatus(RUNNING, details={"world_size": 8})
    service = SimpleNamespace(describe=lambda handle: found, newest_lines=newest)
    chosen = SimpleNamespace(service=service, charges_money=True)
    entry = SimpleNamespace(handle=None, name="train-1", world_size=8)
    monkeypatch.setattr(status, "found_job", lambda job, region: (chosen, entry))

    said = CliRunner().invoke(status.command, ["train-1"], standalone_mode=False)

    assert said.output.startswith(f"{RUNNING}  train-1  8 ranks")
    assert "its progress is not known: an answer of another form" in said.output


KEPT = training_as_json(
    Progress(2, 3, 4, 22, rate=5210.0, metrics={"loss": 0.5, "accuracy": float("nan")}, at=1e9)
)


def test_what_is_kept_of_an_ended_training_comes_back() -> None:
    back = training_of_json(KEPT)
    assert back is not None
    assert training_as_json(back) == KEPT


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        3,
        [],
        {},
        {**KEPT, "rate": "x"},
        {**KEPT, "step": [1]},
        {**KEPT, "metrics": 1},
        {**KEPT, "metrics": {"loss": None}},
        {**KEPT, "at": "yesterday"},
    ],
)
def test_what_is_damaged_is_none(damaged: object) -> None:
    assert training_of_json(damaged) is None


@pytest.mark.parametrize("named", ["tensorflow", "horovod", "unheard-of"])
def test_a_clouds_job_is_counted_as_its_document_says(named: str) -> None:
    variables = {"LAUNCH_WORLD_SIZE": "8", "LAUNCH_STRATEGY": named}
    expected = expected_of(variables)

    assert expected.strategy == ("tensorflow" if named == "tensorflow" else "")

"""What a file of kept records is to the command that sends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entrypoints.lib.errors import TrainingError
from entrypoints.lib.tracking import kept, later
from entrypoints.lib.tracking.records import record
from tests.entrypoints.lib.tracking.recording import Recording

BEGIN = record("begin", key="0123456789abcdef", name="job", parameters={}, tags={})
METRICS = [record("metrics", steps=step, values={"loss": 0.5}) for step in (1, 2, 3)]
END = record("end", status="FINISHED")


def written(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "tracking-recording-01234567.jsonl"
    about = {"kept": "recording"}
    path.write_bytes(kept.content(about, records[0], records[1:], str(folder)))
    return path


def sent(monkeypatch: pytest.MonkeyPatch, path: Path, sink: Recording) -> None:
    monkeypatch.setattr(later, "_sink", lambda about, uri: sink)
    later.send(str(path))


def test_all_is_sent_and_the_file_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path, sink = written(tmp_path, BEGIN, *METRICS, END), Recording()
    sent(monkeypatch, path, sink)
    assert sink.kinds() == ["begin", *["metrics"] * 3, "end"]
    assert not path.exists()


def test_a_parameter_that_is_refused_for_good_keeps_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, sink = written(tmp_path, BEGIN, *METRICS, END), Recording(refused="'begin'")
    sent(monkeypatch, path, sink)
    assert "does not take all of the run's parameters: it says so" in capsys.readouterr().out
    assert not path.exists()


def test_what_is_refused_stays_in_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path, sink = written(tmp_path, BEGIN, *METRICS, END), Recording(refused="'steps': 2")
    before = path.read_bytes()
    with pytest.raises(TrainingError, match=r"did not take 3 of 5 records\. All else is sent"):
        sent(monkeypatch, path, sink)
    assert sink.kinds()[-1] == "end"
    assert path.read_bytes() == before


def test_a_file_that_was_cut_short_is_not_sent_and_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    path, sink = written(tmp_path, BEGIN, *METRICS), Recording()
    with pytest.raises(TrainingError, match="no end: it was cut short"):
        sent(monkeypatch, path, sink)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(TrainingError, match="line 5 is no record of a run, or a part of one"):
        sent(monkeypatch, path, sink)
    assert (path.exists(), sink.taken) == (True, [])


WRONG = [
    "",
    "no JSON",
    '{"kept": 1}',
    '{"kept": "mlflow"}\n',
    '{"kept": "mlflow"}\n' + json.dumps(BEGIN),
    '{"kept": "tensorboard"}\n' + json.dumps(BEGIN),
    '{"kept": "mlflow", "uri": "/r", "experiment": "e"}\n{"what": "begin"}',
    '{"kept": "mlflow", "uri": "/r", "experiment": "e"}\n' + json.dumps({**BEGIN, "what": "x"}),
]


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_no_such_file_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str):
    monkeypatch.setattr(later.tensorboard, "require_writer", lambda: None)
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TrainingError, match="cannot be read"):
        later.send(str(path))
    assert path.read_text(encoding="utf-8") == text


NUMBERS = {"kept": "mlflow", "uri": "http://h:5000", "experiment": "", "experiment_id": "7"}


def test_numbers_are_sent_to_their_own_server_alone(monkeypatch: pytest.MonkeyPatch):
    about = {**NUMBERS, "run_id": "abc"}
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    for uri in (None, "http://h:5000"):
        named = later._named(about, uri)
        assert (named["MLFLOW_EXPERIMENT_ID"], named["MLFLOW_RUN_ID"]) == ("7", "abc")
    with pytest.raises(TrainingError, match=r"belongs to http://h:5000; .*MLFLOW_EXPERIMENT_NAME"):
        later._named(about, "http://other:5000")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "digits")
    assert later._named(about, "http://other:5000") == {
        "MLFLOW_TRACKING_URI": "http://other:5000",
        "MLFLOW_EXPERIMENT_NAME": "digits",
    }

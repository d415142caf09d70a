"""A tracker's calls return whatever its server does, and nothing of what they said is lost."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from entrypoints.lib.tracking import backlog, kept
from entrypoints.lib.tracking.backlog import Backlog
from entrypoints.lib.tracking.records import from_line
from entrypoints.lib.tracking.sender import Sender
from entrypoints.lib.tracking.tracker import FAILED
from tests.entrypoints.lib.tracking.recording import PATIENCE_SECONDS, Recording
from tests.waiting import until

KEY = "0123456789abcdef"


def sender(sink: Recording, *folders: Path, **settings: Any) -> tuple[Sender, list[str]]:
    """One that tries again at once, and the lines that it says."""
    lines: list[str] = []
    given = {"seconds": PATIENCE_SECONDS, "first_pause": 0.001, **settings}
    return Sender(sink, KEY, "job", [str(one) for one in folders], say=lines.append, **given), lines


def train(told: Sender, steps: int = 3) -> None:
    """What a run says."""
    told.begin({"epochs": 2, "augment": ("crop", "flip"), "limit": None}, {"launch.job": "j"})
    for step in range(1, steps + 1):
        told.metrics(step, {"loss": 1.0 / step, "nothing": float("nan")})
    told.file("/models/model.keras")


def kept_in(folder: Path) -> list[dict[str, Any]]:
    """All lines of the one file of kept records there."""
    (path,) = folder.glob("tracking-*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_all_is_sent_in_order_and_the_end_says_where_it_is(tmp_path: Path):
    sink = Recording()
    told, lines = sender(sink, tmp_path)
    train(told)
    told.end()
    assert sink.kinds() == ["begin", "metrics", "metrics", "metrics", "file", "end"]
    assert sink.taken[0]["parameters"] == {"epochs": "2", "augment": "crop,flip"}
    assert [one["values"] for one in sink.taken[1:3]] == [{"loss": 1.0}, {"loss": 0.5}]
    assert lines == ["tracking: the recording's page"]
    assert not list(tmp_path.iterdir())


def test_a_training_goes_on_while_the_server_answers_nothing(tmp_path: Path):
    sink = Recording("hangs")
    told, lines = sender(sink, tmp_path, seconds=0)
    told.begin({}, {})
    sink.wait_for_attempt()
    # The thread is in a call that returns when this test lets it: none of these waits for it.
    for step in range(5000):
        told.metrics(step, {"loss": 1.0})
    told.end()
    assert not sink.taken
    sink.released.set()
    assert len([one for one in kept_in(tmp_path) if one.get("what") == "metrics"]) == 5000
    assert len(lines) == 1
    assert "not sent (no answer yet), kept in" in lines[0]


def test_what_a_server_missed_while_it_was_away_is_sent_when_it_is_back(tmp_path: Path):
    sink = Recording("away")
    told, lines = sender(sink, tmp_path)
    train(told)
    sink.wait_for_attempt()
    sink.wait_for_attempt()
    sink.state = "well"
    told.end()
    assert sink.kinds() == ["begin", "metrics", "metrics", "metrics", "file", "end"]
    assert "connection refused" in lines[0]
    assert lines[1] == "tracking: the recording answers again"
    assert not list(tmp_path.iterdir())


def test_a_server_that_stays_away_is_said_once_and_all_is_kept_whole(tmp_path: Path):
    sink = Recording("away")
    told, lines = sender(sink, tmp_path, seconds=0)
    train(told)
    for _ in range(3):
        sink.wait_for_attempt()
    told.end()
    about, *records = kept_in(tmp_path)
    assert about == {"kept": "recording"}
    kinds = [one["what"] for one in records]
    assert kinds == ["begin", "metrics", "metrics", "metrics", "file", "end"]
    assert (len(lines), lines[1].count("send_tracking.py")) == (2, 1)


def test_while_the_end_waits_for_a_server_all_is_kept_already(tmp_path: Path):
    sink = Recording("hangs")
    told, lines = sender(sink, tmp_path)
    train(told, steps=2000)  # more than memory holds
    sink.wait_for_attempt()
    ending = threading.Thread(target=told.end)
    ending.start()
    until(lambda: list(tmp_path.glob("tracking-*.jsonl")), "the file of what is kept")
    _, *records = kept_in(tmp_path)
    kinds = [one["what"] for one in records]
    assert kinds == ["begin", *["metrics"] * 2000, "file", "end"]
    sink.state = "well"
    sink.released.set()
    ending.join(PATIENCE_SECONDS)
    assert len(sink.taken) == 2003
    assert lines == ["tracking: the recording's page"]
    assert not list(tmp_path.iterdir())


def test_a_record_that_is_refused_holds_up_no_other_and_is_kept(tmp_path: Path):
    sink = Recording(refused="'steps': 2")
    told, lines = sender(sink, tmp_path)
    train(told)
    told.end()
    assert [one.get("steps") for one in sink.taken] == [None, 1, 3, None, None]
    _, *records = kept_in(tmp_path)
    # With how the run began and ended, though that was taken.
    assert [one["what"] for one in records] == ["begin", "metrics", "end"]
    assert (records[1]["steps"], records[2]["status"]) == (2, "FINISHED")
    assert "does not take metrics: it says so" in lines[0]


def test_a_refusal_is_looked_for_one_by_one_in_what_was_refused_alone(tmp_path: Path):
    sink = Recording("hangs", refused="'steps': 3,")
    told, _ = sender(sink, tmp_path)
    told.begin({}, {})
    sink.wait_for_attempt()
    for step in range(500):
        told.metrics(step, {"loss": 1.0})
    sink.state = "well"
    sink.released.set()
    told.end()
    assert [one["steps"] for one in sink.taken[1:-1]] == [one for one in range(500) if one != 3]
    # The first 200 as one and then alone, the others in two.
    assert sink.calls.count(200) == 2
    assert sink.calls.count(100) == 1


def test_a_beginning_that_is_refused_in_part_holds_up_nothing(tmp_path: Path):
    sink = Recording(refused="'begin'")
    told, lines = sender(sink, tmp_path)
    train(told)
    told.end()
    assert sink.kinds() == ["metrics", "metrics", "metrics", "file", "end"]
    assert "does not take all of the run's parameters: it says so" in lines[0]
    assert lines[1] == "tracking: the recording's page"
    assert not list(tmp_path.iterdir())


def test_the_next_start_of_the_run_sends_what_the_last_one_kept(tmp_path: Path):
    models, checkpoints = tmp_path / "models", tmp_path / "checkpoints"
    models.mkdir()
    checkpoints.mkdir()
    away, _ = sender(Recording("away"), models, checkpoints, seconds=0)
    train(away)
    away.end(FAILED)
    # A machine that is taken back takes the model's folder with it; the checkpoints stay.
    assert (list(models.iterdir()), len(kept_in(checkpoints))) == ([], 7)
    sink = Recording()
    again, _ = sender(sink, models, checkpoints)
    again.begin({}, {})
    again.metrics(4, {"loss": 0.25})
    again.end()
    assert sink.kinds() == ["begin", *["metrics"] * 3, "file", "metrics", "end"]
    assert not list(checkpoints.iterdir())


def test_records_that_cannot_be_written_leave_what_an_earlier_start_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    models, checkpoints = tmp_path / "models", tmp_path / "checkpoints"
    models.mkdir()
    checkpoints.mkdir()
    away, _ = sender(Recording("away"), models, checkpoints, seconds=0)
    train(away)
    away.end(FAILED)
    before = kept_in(checkpoints)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept.storage, "write_whole", full)
    again, lines = sender(Recording("away"), models, checkpoints, seconds=0)
    train(again)
    again.end()
    assert "are lost" in lines[-1]
    assert kept_in(checkpoints) == before


def test_a_file_of_kept_records_that_somebody_changed_stops_nothing(tmp_path: Path):
    changed = [
        {"kept": "recording"},
        {"what": "begin"},
        {"what": "file", "at": 1},
        {"what": "file", "at": 1, "path": 3},
        {"what": "metrics", "at": 1, "steps": "1"},
        {"what": "nothing", "at": 1},
        {"what": "metrics", "at": 1, "steps": 1, "values": {"loss": 0.5}},
    ]
    path = tmp_path / f"tracking-recording-{KEY[:8]}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in changed), encoding="utf-8")
    sink = Recording()
    told, _ = sender(sink, tmp_path)
    told.begin({}, {})
    told.end()
    assert sink.kinds() == ["begin", "metrics", "end"]
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_never_begun_ends_at_once():
    told, lines = sender(Recording("away"))
    told.end()
    assert not lines


def test_a_file_is_found_from_where_the_records_are_kept(tmp_path: Path):
    begin = {"what": "begin", "at": 1}
    file = {"what": "file", "at": 2, "path": str(tmp_path / "model.keras")}
    text = kept.content({"kept": "mlflow"}, begin, [file], str(tmp_path)).decode()
    assert from_line(text.splitlines()[2])["path"] == "model.keras"
    assert kept.read(text, "/home/me")[1][1]["path"] == "/home/me/model.keras"


def test_a_long_queue_goes_to_disk_and_comes_back_in_order():
    queue = Backlog(most=10)
    for number in range(1000):
        queue.add({"what": "metrics", "at": number})
    taken = [one["at"] for one in queue.first(5)]
    queue.drop(5)
    queue.add({"what": "end", "at": 1000})
    assert len(queue) == 996
    taken += [one["at"] for one in queue.rest()]
    assert taken == list(range(1001))
    assert queue.lost == 0


def test_what_is_put_behind_comes_after_what_lies_on_disk():
    queue = Backlog(most=2)
    for number in range(5):
        queue.add({"what": "metrics", "at": number})
    queue.put_behind()
    assert [one["at"] for one in queue.rest()] == [1, 2, 3, 4, 0]
    queue.put_behind()
    assert len(queue) == 0


def test_records_that_neither_memory_nor_disk_holds_are_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backlog.tempfile, "TemporaryFile", full)
    monkeypatch.setattr(backlog, "MOST_IN_MEMORY", 1)
    queue = Backlog(most=1)
    queue.add({"what": "metrics", "at": 0})
    queue.add({"what": "metrics", "at": 1})
    assert (len(queue), queue.lost) == (1, 1)
    keeper = kept.Keeper({"kept": "recording"}, KEY, [str(tmp_path)])
    begin, end = {"what": "begin", "at": 0}, {"what": "end", "at": 9}
    lines = keeper.keep(begin, end, [], True, "MLflow", "", queue.lost)
    assert lines == ["tracking: 1 records for MLflow are lost: no room to hold them"]

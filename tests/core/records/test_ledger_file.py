"""The ledger's file: each schema that was ever written is read, and none that is newer."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.records import ledger_file
from launchers.core.records.entry import INTENT, Entry
from launchers.core.records.ledger import Ledger
from launchers.core.records.wanted import Wanted

LEDGERS = sorted(Path(__file__).with_name("ledgers").glob("*.sql"))


def made(folder: Path, dump: str) -> Ledger:
    with sqlite3.connect(folder / "ledger.db") as connection:
        connection.executescript(dump)
    connection.close()
    return Ledger(folder)


def shape(folder: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(folder / "ledger.db") as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
        names = connection.execute("PRAGMA table_info(jobs)").fetchall()
    connection.close()
    return sorted((name, "") for name, _ in found) + [(column[1], column[2]) for column in names]


def test_there_is_a_ledger_of_every_schema():
    assert [path.stem for path in LEDGERS] == [str(n + 1) for n in range(ledger_file.LATEST)]


@pytest.mark.parametrize("dump", LEDGERS, ids=lambda path: path.stem)
def test_a_ledger_of_every_schema_is_read_and_written(tmp_path: Path, dump: Path):
    ledger = made(tmp_path, dump.read_text())
    ended, begun = ledger.jobs()
    assert (ended.name, ended.state, ended.ended) == ("train-0badcafe-1", "succeeded", 1763700200)
    assert begun.details == {"region": "us-east-1", "account": "123456789012"}
    assert begun.nonce == ("" if dump.stem == "1" else "ab" * 16)
    ledger.update(begun, details={**begun.details, "sent": 1.0}, nonce="cd" * 16)
    assert ledger.find("train-3f").nonce == "cd" * 16
    ledger.add(Entry("new-1", "local", "new", 1, 1, "{}"))
    assert ledger.count() == 3
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    Ledger(fresh).add(begun)
    assert shape(tmp_path) == shape(fresh)


def test_a_ledger_of_a_newer_launcher_is_refused_and_left_as_it_is(tmp_path: Path):
    ledger = made(tmp_path, LEDGERS[-1].read_text() + "PRAGMA user_version = 99;")
    before = ledger.path.read_bytes()
    for use in (ledger.jobs, lambda: ledger.add(Entry("a-1", "local", "a", 1, 1, ""))):
        with pytest.raises(LaunchError, match="schema 99, written by a newer launch") as raised:
            use()
        assert [problem.rule for problem in raised.value.problems] == ["ledger-newer"]
    assert ledger.path.read_bytes() == before


def test_a_locked_ledger_is_called_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_file, "_WAIT_SECONDS", 0.01)
    ledger = made(tmp_path, LEDGERS[-1].read_text())
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(LaunchError, match="end the process that holds it") as raised:
            ledger.jobs()
    finally:
        holder.close()
    assert [problem.rule for problem in raised.value.problems] == ["ledger-locked"]
    assert len(ledger.jobs()) == 2


def test_an_upgrade_that_fails_leaves_the_ledger_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ledger = made(tmp_path, LEDGERS[0].read_text())
    before = shape(tmp_path)
    steps = ledger_file.STEPS
    monkeypatch.setattr(ledger_file, "STEPS", (*steps[:2], steps[2] + "CREATE TABLE jobs (x);"))
    with pytest.raises(LaunchError, match="already exists"):
        ledger.jobs()
    assert shape(tmp_path) == before
    monkeypatch.undo()
    assert len(ledger.jobs()) == 2


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("details", "{"),
        ("details", "[" * 5000),
        ("details", b"\xff"),
        ("created", "yesterday"),
        ("run", "x"),
        ("world_size", b"1"),
        ("state", b"\x80"),
        ("definition", b"\x00"),
        ("ended", "never"),
    ],
)
def test_a_damaged_row_hides_no_other(tmp_path: Path, column: str, value: object):
    ledger = made(tmp_path, LEDGERS[-1].read_text())
    with sqlite3.connect(ledger.path) as connection:
        connection.execute(
            f"UPDATE jobs SET {column} = ? WHERE name = 'train-0badcafe-1'", (value,)
        )
    connection.close()
    jobs = {job.name: job for job in ledger.jobs()}
    assert jobs["train-0badcafe-1"].damaged == column
    assert jobs["train-3f2a9c1e-1"].damaged == ""
    assert ledger.find("train-3f").state == INTENT


def test_a_text_that_is_no_utf_8_is_shown_as_far_as_it_goes(tmp_path: Path):
    ledger = made(tmp_path, LEDGERS[-1].read_text())
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("UPDATE jobs SET reason = CAST(x'61ff62' AS TEXT)")
    connection.close()
    assert {job.reason for job in ledger.jobs()} == {"a\ufffdb"}


def filled(folder: Path) -> Ledger:
    ledger = Ledger(folder)
    for number in range(30):
        where = "local" if number % 2 else "vertex"
        state = "running" if number in (0, 3) else "failed" if number % 3 else "succeeded"
        name = f"job-{number:02}"
        ledger.add(Entry(name, where, name, 1, 1, "", state, created=number + 1.0))
    return ledger


@pytest.mark.parametrize(
    ("wanted", "newest", "names"),
    [
        (Wanted(), 3, [29, 28, 27, 3, 0]),
        (Wanted(), 0, [3, 0]),
        (Wanted(provider="local"), 2, [29, 27, 3]),
        (Wanted(state="succeeded"), 2, [27, 24, 3, 0]),
        (Wanted(since=28.0), 9, [29, 28, 27]),
        (Wanted(provider="local", state="failed", since=20.0), 2, [29, 25]),
    ],
)
def test_what_has_not_ended_is_listed_with_the_newest(
    tmp_path: Path, wanted: Wanted, newest: int, names: list[int]
):
    assert [int(job.name[4:]) for job in filled(tmp_path).jobs(wanted, newest)] == names


def test_jobs_are_counted_and_a_ledger_that_is_not_there_has_none(tmp_path: Path):
    (tmp_path / "none").mkdir()
    assert Ledger(tmp_path / "none").count() == 0
    assert not Ledger(tmp_path / "none").path.exists()
    ledger = filled(tmp_path)
    assert ledger.count() == 30
    assert ledger.count(Wanted(provider="local", state="failed")) == 11


def test_no_question_reads_the_whole_table(tmp_path: Path):
    ledger = filled(tmp_path)
    asked: list[str] = []
    with ledger_file.connected(ledger.path) as connection:
        for rest in (
            f"WHERE {ledger_file.UNFINISHED} AND 1",
            "WHERE name = 'x'",
            "WHERE name >= 'x' AND name < 'y'",
            "ORDER BY created DESC, run DESC LIMIT 20",
            "WHERE created >= 5 ORDER BY created DESC, run DESC LIMIT 20",
            "WHERE provider = 'x' AND base = 'y' ORDER BY run",
        ):
            plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT rowid FROM jobs {rest}")
            asked += [step[3] for step in plan.fetchall()]
    assert asked
    assert not [step for step in asked if step == "SCAN jobs" or "TEMP B-TREE" in step]

"""`launch list`: which jobs it shows, and what it says of the rest."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from launchers.core.model.jobs import RUNNING, SUCCEEDED
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from tests.cli.command import Launch


@pytest.fixture
def many(launch: Launch) -> Launch:
    launch.home.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(launch.home)
    for number in range(30):
        state = "failed" if number % 3 else "succeeded"
        where = "vertex" if number % 2 else "sagemaker"
        name = f"job{number:02}-aaaaaaaa-1"
        entry = Entry(name, where, name[:-2], 1, 8, "{}", state, created=(number + 1.5) * 86400)
        ledger.add(entry)
    return launch


def shown(launch: Launch, *words: str) -> list[int]:
    answer = launch("list", "--json", *words)
    assert answer.code == 0, answer.err
    return [int(job["name"][3:5]) for job in answer.json]


def test_the_newest_twenty_are_shown_and_the_others_counted(many: Launch):
    answer = many("list")
    assert answer.code == 0
    assert "job29" in answer.out
    assert "job09" not in answer.out
    assert "and 10 more: --limit 30 shows all" in answer.err


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["--limit", "2"], [29, 28]),
        (["--limit", "2", "--provider", "vertex"], [29, 27]),
        (["--state", "succeeded", "--limit", "2"], [27, 24]),
        (["--since", "1970-01-30"], [29, 28]),
        (["--since", "1h"], []),
    ],
)
def test_jobs_are_chosen_by_flags(many: Launch, words: list[str], numbers: list[int]):
    assert shown(many, *words) == numbers


@pytest.mark.parametrize(
    "words", [["--limit", "-1"], ["--since", "soon"], ["--since", "9999999-01-01"]]
)
def test_a_value_that_is_none_is_told(many: Launch, words: list[str]):
    answer = many("list", *words)
    assert answer.code == 2
    assert "[flag-value]" in answer.err


def test_a_damaged_row_and_a_provider_of_another_launch_hide_no_job(many: Launch):
    with sqlite3.connect(many.home / "ledger.db") as connection:
        connection.execute("UPDATE jobs SET details = '{' WHERE name LIKE 'job29%'")
        connection.execute("UPDATE jobs SET created = 1e300 WHERE name LIKE 'job28%'")
        connection.execute(
            "UPDATE jobs SET provider = 'mars', state = 'running' WHERE name LIKE 'job00%'"
        )
    connection.close()
    answer = many("list")
    assert answer.code == 0, answer.err
    for words in ("job29", "job28", "job27", "job00", "mars"):
        assert words in answer.out
    status = many("status", "job29")
    assert status.code == 2
    assert "damaged in the ledger: details" in status.err


def left_behind(home: Path) -> dict[str, dict[str, str]]:
    """The details of jobs whose supervisors are gone, by what has become of their folders."""
    file, loop = home / "file", home / "loop"
    file.write_text("")
    loop.symlink_to(loop)
    details = {"below a file": {"folder": str(file / "job")}, "no folder": {}}
    for name, result in (("empty", ""), ("a list", "[]"), ("cut", '{"state": "succ')):
        folder = home / name
        folder.mkdir()
        (folder / "result.json").write_text(result)
        details[name] = {"folder": str(folder)}
    return {**details, "not to be read": {"folder": str(loop)}}


def test_a_folder_that_cannot_be_read_hides_no_job(many: Launch):
    ledger, details = Ledger(many.home), left_behind(many.home)
    for number, one in enumerate(details.values()):
        name = f"left{number}-aaaaaaaa-1"
        entry = Entry(name, "local", name[:-2], 1, 2, "{}", RUNNING, created=9.0 - number)
        ledger.add(Entry(**{**vars(entry), "details": {**one, "supervisor": "999999999:1"}}))
    answer = many("list", "--json", "--provider", "local")
    assert answer.code == 0, answer.err
    # What cannot be read now may be read tomorrow: nothing is written of it.
    states = [job["state"] for job in answer.json]
    assert dict(zip(details, states, strict=True)) == {
        **dict.fromkeys(details, "lost"),
        "not to be read": "running",
    }
    for number, name in enumerate(details):
        word = f"left{number}"
        status = many("status", word)
        assert status.code == (2 if name == "not to be read" else 0), status.err
        told = [many("logs", word, "--rank", "1"), many("logs", word), many("cancel", word), status]
        assert "internal-error" not in "".join(answer.err for answer in told)
        assert "[job-folder]" in told[0].err


@pytest.mark.parametrize("words", [(), ("--raw",), ("--rank", "0"), ("--follow",), ("--json",)])
def test_the_lines_of_a_job_whose_folder_was_deleted_are_told_to_be_gone(
    many: Launch, words: tuple[str, ...]
):
    name = "gone-aaaaaaaa-1"
    details = {"folder": str(many.home / "jobs" / name)}
    entry = Entry(name, "local", name[:-2], 1, 2, "{}", SUCCEEDED, created=9.0, details=details)
    Ledger(many.home).add(entry)
    answer = many("logs", name, *words)
    assert answer.code == 2
    assert "[job-folder]" in answer.err or '"job-folder"' in answer.out
    assert many("status", name).code == 0


def test_a_row_that_makes_no_sense_hides_no_other(many: Launch):
    with sqlite3.connect(many.home / "ledger.db") as connection:
        # Details without the place where the job runs.
        connection.execute("UPDATE jobs SET state = 'running' WHERE name LIKE 'job2%'")
    connection.close()
    answer = many("list")
    assert answer.code == 0, answer.err
    assert "Traceback" not in answer.err
    assert all(f"job{number}" in answer.out for number in range(20, 30))
    assert "as of the ledger; it cannot be asked for" in answer.out

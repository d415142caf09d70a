"""The ledger: what it keeps, and how a job is found in it."""

from __future__ import annotations

import os
import pwd
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launchers.core.model.jobs import FAILED, PENDING, RUNNING, STOPPED, SUCCEEDED
from launchers.core.model.problems import LaunchError
from launchers.core.reading.user_defaults import defaults_file
from launchers.core.records import ledger as module
from launchers.core.records.commands import last_of
from launchers.core.records.entry import Entry, inherited_checkpoint, next_run
from launchers.core.records.ledger import Ledger, data_folder, data_place
from launchers.core.records.ledger_file import connected
from launchers.core.records.offered import names_beginning
from tests.refusals import refused
from tests.rights import without_rights


def entry(base: str = "train-aaaaaaaa", run: int = 1, **changes: object) -> Entry:
    values: dict[str, object] = {
        "name": f"{base}-{run}",
        "provider": "local",
        "base": base,
        "run": run,
        "world_size": 2,
        "definition": "{}",
        "state": PENDING,
        "created": float(run),
    }
    return Entry(**{**values, **changes})  # type: ignore[arg-type]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user no system knows."""

    def unknown(number: int) -> None:
        raise KeyError(number)

    for name in ("HOME", "LAUNCH_HOME", "LAUNCH_CONFIG_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_what_was_written_is_what_is_read(ledger: Ledger):
    written = entry(details={"folder": "/x"}, checkpoint="/y", reason="r")
    ledger.add(written)
    assert ledger.get("local", written.name) == written


def test_a_folder_whose_name_is_no_utf_8_is_kept_as_it_is(ledger: Ledger):
    ledger.add(entry(checkpoint="/y\udcff"))
    (found,) = ledger.runs("local", entry().base)
    assert (found.checkpoint, found.damaged) == ("/y\udcff", "")
    ledger.update(found, checkpoint="/ü\udcfe")
    assert [one.checkpoint for one in ledger.jobs()] == ["/ü\udcfe"]


def test_a_name_is_written_once(ledger: Ledger):
    ledger.add(entry())
    with refused("ledger-name-taken", "a name that is not in the ledger"):
        ledger.add(entry())


def test_a_final_state_stays_whoever_comes_second(ledger: Ledger):
    ledger.add(entry())
    ledger.update(entry(), state=SUCCEEDED)
    ledger.update(entry(), state=STOPPED, reason="too late")
    found = ledger.get("local", entry().name)
    assert found is not None
    assert (found.state, found.reason) == (SUCCEEDED, "")
    assert found.ended is not None


def test_a_job_without_a_time_is_of_the_moment_it_is_written(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module.time, "time", lambda: 1234.5)
    ledger.add(Entry("a-1", "local", "a", 1, 2, "{}"))
    found = ledger.get("local", "a-1")
    assert found is not None
    assert found.created == 1234.5


def test_what_would_move_the_cursor_is_never_kept(ledger: Ledger):
    ledger.add(entry(reason="\x1b[2J", proof="\x1b[2J"))
    for state in (RUNNING, FAILED):
        found = ledger.get("local", entry().name)
        assert found is not None
        assert "\x1b" not in found.reason + found.proof
        ledger.update(entry(), state=state, reason="\x1b[2J", proof="\x1b[2J")


def test_a_detail_is_noted_of_a_job_that_has_ended_too(ledger: Ledger):
    ended = entry(details={"folder": "/x"}, state=SUCCEEDED)
    ledger.add(ended)
    for value in ({"epoch": 3}, None):
        ledger.note(ended, "progress", value)
        found = ledger.get("local", ended.name)
        assert found is not None
        assert found.details == {"folder": "/x", "progress": value}
        assert found.state == SUCCEEDED


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("train-aaaaaaaa-1", "train-aaaaaaaa-1"),
        ("local:train-aaaaaaaa-1", "train-aaaaaaaa-1"),
        ("train-aaaaaaaa", "train-aaaaaaaa-12"),
        ("train-a", "train-aaaaaaaa-12"),
        ("eval", "eval-bbbbbbbb-1"),
    ],
)
def test_a_job_is_found_by_name_by_unique_prefix_and_without_its_run(
    ledger: Ledger, word: str, name: str
):
    for run in (1, 2, 12):
        ledger.add(entry(run=run))
    ledger.add(entry("eval-bbbbbbbb"))
    assert ledger.find(word).name == name


@pytest.mark.parametrize(
    ("word", "part", "rule"),
    [
        ("tr", "2 jobs begin so", "job-ambiguous"),
        ("nosuch", "a job of `launch list`", "job-unknown"),
        ("nosuch", "see `launch list`", "job-unknown"),
        ("trian-aaaaaaaa-1", "did you mean train-aaaaaaaa-1?", "job-unknown"),
        ("", "a job of `launch list`", "job-unknown"),
        ("nosuch:train-aaaaaaaa-1", "a job of `launch list`", "job-unknown"),
    ],
)
def test_an_unclear_or_unknown_job_is_an_error(ledger: Ledger, word: str, part: str, rule: str):
    ledger.add(entry("train-aaaaaaaa"))
    ledger.add(entry("trial-bbbbbbbb"))
    with refused(rule, part) as caught:
        ledger.find(word)
    assert caught.value.exit_code == 2


def test_of_many_jobs_that_begin_so_the_newest_are_offered(ledger: Ledger):
    for number in range(9):
        ledger.add(entry(f"train-{number:08d}", created=float(number + 1)))
    newest = ", ".join(f"train-{number:08d}" for number in range(8, 2, -1))
    with refused("job-ambiguous", f"one of {newest}") as caught:
        ledger.find("train")
    assert str(caught.value).endswith(newest)


@pytest.mark.parametrize(("make", "what"), [(os.mkfifo, "a named pipe"), (os.mkdir, "a folder")])
def test_what_is_no_file_in_the_ledgers_place_is_told_and_not_waited_for(
    ledger: Ledger, make: Callable[[Path], None], what: str
):
    make(ledger.path)
    with refused("ledger-unreadable", f"{ledger.path}: {what}"):
        ledger.jobs()
    assert names_beginning(ledger.path, "t", 9) == []


@pytest.mark.parametrize(("older", "told"), [(499, True), (500, False)])
def test_a_misspelt_name_is_held_against_the_newest_five_hundred(
    ledger: Ledger, older: int, told: bool
):
    ledger.add(entry("meant-00000000", created=1.0))
    with connected(ledger.path) as connection:
        connection.executemany(
            "INSERT INTO jobs (name, provider, base, run, state, world_size, created, definition,"
            " details) VALUES (?, 'local', ?, 1, 'failed', 2, ?, '{}', '{}')",
            [(f"{'x' * 20}{n}", "x", 2.0 + n) for n in range(older)],
        )
    with pytest.raises(LaunchError) as caught:
        ledger.find("maent-00000000-1")
    assert ("did you mean meant-00000000-1?" in str(caught.value)) == told


def test_a_ledger_that_is_no_database_is_told_so_and_left_as_it_is(tmp_path: Path):
    (tmp_path / "ledger.db").write_text("not a database, but somebody's file")
    with refused("ledger-unreadable", "move it away"):
        Ledger(tmp_path).jobs()
    assert (tmp_path / "ledger.db").read_text() == "not a database, but somebody's file"


@pytest.mark.parametrize("kept", [10, 1000, 4096, 5000, 20_000])
def test_a_ledger_that_was_cut_is_told_so(ledger: Ledger, kept: int):
    ledger.add(entry())
    ledger.path.write_bytes(ledger.path.read_bytes()[:kept])
    with refused("ledger-unreadable", "put back a copy of it"):
        ledger.jobs()
    with refused("ledger-unreadable"):
        ledger.add(entry(run=2))


def test_a_ledger_without_its_table_is_called_damaged(ledger: Ledger):
    ledger.add(entry())
    with connected(ledger.path) as connection:
        connection.execute("DROP TABLE jobs")
    with refused("ledger-unreadable", "no such table: jobs"):
        ledger.jobs()


def test_a_ledger_is_for_its_owner_alone(ledger: Ledger):
    ledger.add(entry())
    assert ledger.path.stat().st_mode & 0o077 == 0


def test_a_ledger_in_another_users_folder_is_told_so(ledger: Ledger):
    ledger.add(entry())
    with without_rights(ledger.path.parent):
        for use in (ledger.jobs, ledger.count, lambda: last_of(ledger, ("a",))):
            with refused("ledger-unusable", f"{ledger.path}: Permission denied; expected"):
                use()
        assert names_beginning(ledger.path, "t", 9) == []


def test_the_data_folder_is_made_with_those_above_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "above" / "home"))
    for _ in range(2):
        assert data_folder().stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_made_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(LaunchError, match="set LAUNCH_HOME to another folder"):
        data_folder()
    (tmp_path / "link").symlink_to(tmp_path / "unmounted")
    for place in (tmp_path / "link", tmp_path / "link" / "below"):
        monkeypatch.setenv("LAUNCH_HOME", str(place))
        with refused("folder-unwritable", f"a link to {tmp_path / 'unmounted'}, which is not"):
            data_folder()


def test_a_user_without_a_home_folder_is_told_so(homeless: None, monkeypatch: pytest.MonkeyPatch):
    with refused("folder-unwritable", "this user has no home folder"):
        Ledger().jobs()
    assert defaults_file() is None
    monkeypatch.setenv("LAUNCH_HOME", "~/x")
    assert data_place() == Path.cwd() / "~" / "x"


@pytest.mark.processes
def test_several_processes_write_at_once_and_nothing_is_lost(tmp_path: Path):
    program = (
        "import sys; from pathlib import Path\n"
        "from launchers.core.records.ledger import Entry, Ledger\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "for run in range(20):\n"
        "    ledger.add(Entry(name=f'{sys.argv[2]}-{run}', provider='local', base=sys.argv[2],"
        " run=run, world_size=1, definition=''))\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), f"job{number}"])
        for number in range(4)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0, 0]
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (80,)


def test_the_next_run_is_the_first_number_that_no_job_has():
    assert next_run([]) == 1
    assert next_run([entry(run=1), entry(run=4)]) == 5


@pytest.mark.parametrize(
    ("state", "kept"), [(SUCCEEDED, False), (FAILED, True), (STOPPED, True), (RUNNING, False)]
)
def test_a_run_after_one_that_did_not_succeed_keeps_its_checkpoints(state: str, kept: bool):
    runs = [entry(run=1, state=SUCCEEDED), entry(run=2, state=state)]
    assert (inherited_checkpoint(runs) is not None) == kept


def test_a_first_run_has_no_checkpoints_to_keep():
    assert inherited_checkpoint([]) is None

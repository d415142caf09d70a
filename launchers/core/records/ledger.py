"""The ledger: every job that this user started or meant to start, in one SQLite file.

It is written before anything is sent that may cost money, so that a kill at any moment leaves no
job that ``launch list`` does not know. Several processes may use it at once. It holds the jobs'
nonces, so it is its owner's alone.

A ledger of an older launcher has no column ``nonce``; it is added on the first use.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED, JobHandle
from launchers.core.model.problems import LaunchError, NameTakenError, did_you_mean
from launchers.core.paths import writing
from launchers.core.printable import printable

INTENT = "intent"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    name TEXT NOT NULL,
    provider TEXT NOT NULL,
    base TEXT NOT NULL,          -- name without its run number
    run INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    proof TEXT NOT NULL DEFAULT '',
    world_size INTEGER NOT NULL,
    created REAL NOT NULL,       -- seconds since the epoch
    ended REAL,
    checkpoint TEXT NOT NULL DEFAULT '',
    definition TEXT NOT NULL,    -- the document's text, with the nonce's placeholder
    details TEXT NOT NULL,       -- JSON
    nonce TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (provider, name)
);
CREATE INDEX IF NOT EXISTS jobs_by_base ON jobs (provider, base, run);
"""


@dataclass(frozen=True)
class Entry:
    """One job of the ledger. Times are seconds since the epoch, UTC.

    Attributes:
        nonce: The job's (:mod:`launchers.core.records.nonce`), never shown; "" for a job of
            an older launcher.
    """

    name: str
    provider: str
    base: str
    run: int
    world_size: int
    definition: str
    state: str = INTENT
    reason: str = ""
    proof: str = ""
    created: float = 0.0
    ended: float | None = None
    checkpoint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    nonce: str = field(default="", repr=False)

    @property
    def final(self) -> bool:
        """Whether the job has ended."""
        return self.state in FINAL_STATES

    @property
    def handle(self) -> JobHandle:
        """What the provider finds the job by."""
        return JobHandle(self.provider, self.name, self.details)


def data_folder() -> Path:
    """Where ledger and local jobs lie: ``LAUNCH_HOME``, else the user's data folder.

    Raises:
        LaunchError: It cannot be made.
    """
    named = os.environ.get("LAUNCH_HOME")
    if named:
        folder = Path(named).expanduser().absolute()
    else:
        from platformdirs import user_data_path

        folder = user_data_path("launch", appauthor=False)
    with writing(folder, "set LAUNCH_HOME to another folder"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


_COLUMNS = tuple(field.name for field in fields(Entry))


class Ledger:
    """The table of jobs. Each method is one transaction; a locked file is waited for, 30 s."""

    def __init__(self, folder: Path | None = None):
        self.path = (folder or data_folder()) / "ledger.db"

    def add(self, entry: Entry) -> None:
        """Write a new job, before it is sent.

        Raises:
            NameTakenError: The ledger holds the name.
            LaunchError: The file cannot be written.
        """
        try:
            with self._connection() as connection:
                connection.execute(
                    "INSERT INTO jobs (name, provider, base, run, state, reason, proof, world_size,"
                    " created, checkpoint, definition, details, nonce)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        entry.name,
                        entry.provider,
                        entry.base,
                        entry.run,
                        entry.state,
                        printable(entry.reason),
                        printable(entry.proof),
                        entry.world_size,
                        entry.created or time.time(),
                        entry.checkpoint,
                        entry.definition,
                        json.dumps(dict(entry.details)),
                        entry.nonce,
                    ),
                )
        except sqlite3.IntegrityError:
            raise NameTakenError(RULES["ledger-name-taken"].at("name", entry.name)) from None

    def update(self, entry: Entry, **changes: Any) -> None:
        """Set columns of a job. A state that is final stays, whoever comes second."""
        for column in ("reason", "proof"):
            if column in changes:
                changes[column] = printable(changes[column])
        if "details" in changes:
            changes["details"] = json.dumps(dict(changes["details"]))
        if changes.get("state") in FINAL_STATES:
            changes.setdefault("ended", time.time())
        columns = ", ".join(f"{column} = ?" for column in changes)
        final = ", ".join(f"'{state}'" for state in sorted(FINAL_STATES))
        with self._connection() as connection:
            connection.execute(
                f"UPDATE jobs SET {columns} WHERE provider = ? AND name = ?"
                f" AND state NOT IN ({final})",
                (*changes.values(), entry.provider, entry.name),
            )

    def forget(self, entry: Entry) -> None:
        """Take an entry back of which nothing came; one that has gone on meanwhile stays."""
        with self._connection() as connection:
            connection.execute(
                "DELETE FROM jobs WHERE provider = ? AND name = ? AND state = ?",
                (entry.provider, entry.name, entry.state),
            )

    def get(self, provider: str, name: str) -> Entry | None:
        """The job of exactly that name."""
        found = self._select("WHERE provider = ? AND name = ?", (provider, name))
        return found[0] if found else None

    def jobs(self) -> list[Entry]:
        """Every job, the newest first."""
        return self._select("ORDER BY created DESC, run DESC", ())

    def runs(self, provider: str, base: str) -> list[Entry]:
        """The runs of one job, by run number."""
        return self._select("WHERE provider = ? AND base = ? ORDER BY run", (provider, base))

    def find(self, word: str) -> Entry:
        """The job that a user means: an exact name, else a unique prefix.

        A name without its run number means the newest run.

        Raises:
            LaunchError: None matches, or several do.
        """
        jobs = self.jobs()
        exact = [job for job in jobs if word in (job.name, f"{job.provider}:{job.name}")]
        if exact:
            return exact[0]
        near = [job for job in jobs if job.name.startswith(word)]
        bases = {(job.provider, job.base) for job in near}
        if len(bases) == 1:
            return max(near, key=lambda job: job.run)
        if bases:
            raise LaunchError(
                RULES["job-ambiguous"].at(
                    "JOB",
                    f"{word} ({len(bases)} jobs begin so)",
                    "a prefix of one job",
                    "one of " + ", ".join(sorted(base for _, base in bases)[:6]),
                )
            )
        raise LaunchError(
            RULES["job-unknown"].at(
                "JOB",
                word,
                "a job of `launch list`",
                did_you_mean(word, [job.name for job in jobs]) or "see `launch list`",
            )
        )

    def _select(self, rest: str, values: tuple[Any, ...]) -> list[Entry]:
        if not self.path.exists():
            return []
        with self._connection() as connection:
            rows = connection.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM jobs {rest}",
                values,
            ).fetchall()
        return [_entry(row) for row in rows]

    def _make_private(self) -> None:
        """The file is its owner's alone from its first byte on, and so is one that was copied
        with other rights."""
        flags = os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            self._make_private()
            connection = sqlite3.connect(self.path, timeout=30)
            try:
                connection.executescript(_SCHEMA)
                _add_nonce(connection)
                with connection:
                    yield connection
            finally:
                connection.close()
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, OSError) as error:
            raise LaunchError(RULES["ledger-unusable"].at(str(self.path), str(error))) from None


def _add_nonce(connection: sqlite3.Connection) -> None:
    """The column that a ledger of an older launcher lacks."""
    columns = connection.execute("PRAGMA table_info(jobs)").fetchall()
    if any(column[1] == "nonce" for column in columns):
        return
    try:
        connection.execute("ALTER TABLE jobs ADD COLUMN nonce TEXT NOT NULL DEFAULT ''")
    except sqlite3.OperationalError as error:
        if "duplicate column" not in str(error):  # another process was quicker
            raise


def _entry(row: Sequence[Any]) -> Entry:
    values = dict(zip(_COLUMNS, row, strict=True))
    return Entry(**{**values, "details": json.loads(values["details"])})


def next_run(runs: list[Entry]) -> int:
    """The first run number that no job of the ledger has."""
    return max((entry.run for entry in runs), default=0) + 1


def inherited_checkpoint(runs: list[Entry]) -> Entry | None:
    """The run whose checkpoint folder the next one keeps: the last, where it ended without
    success. One that still runs writes there itself."""
    last = max(runs, key=lambda entry: entry.run, default=None)
    return last if last is not None and last.final and last.state != SUCCEEDED else None

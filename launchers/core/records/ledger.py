"""The ledger: every job that this user started or meant to start, in one SQLite file.

It is written before anything is sent that may cost money, so that a kill at any moment leaves no
job that ``launch list`` does not know. Several processes may use it at once. It holds the jobs'
nonces, so it is its owner's alone.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.jobs import FINAL_STATES
from launchers.core.model.problems import LaunchError, NameTakenError, did_you_mean
from launchers.core.paths import at_home, writing
from launchers.core.printable import printable
from launchers.core.records.entry import PARAMETER, SELECTED, Entry, read
from launchers.core.records.ledger_file import UNFINISHED, bound, connected, is_there
from launchers.core.records.wanted import Wanted


def data_place() -> Path:
    """Where the data folder is, or would be.

    Raises:
        LaunchError: The user has no home folder, as one that no system knows (a container's).
    """
    named = os.environ.get("LAUNCH_HOME")
    if named:
        return at_home(named).absolute()
    from platformdirs import user_data_path

    found = "this user has no home folder"
    try:
        place = user_data_path("launch", appauthor=False)
    except RuntimeError:
        place = Path()
    if not place.is_absolute():  # `~/...`, by its older releases
        fix = "set LAUNCH_HOME to a folder"
        raise LaunchError(RULES["folder-unwritable"].at("the data folder", found, fix=fix))
    return place


def data_folder() -> Path:
    """Where ledger and local jobs lie: ``LAUNCH_HOME``, else the user's data folder.

    Raises:
        LaunchError: It cannot be made.
    """
    folder = data_place()
    with writing(folder, "set LAUNCH_HOME to another folder"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


# Names that a misspelt one is held against: a comparison with each of many thousands takes long.
_NEAR = 500
_OFFERED = 6  # jobs of which a prefix may be meant, the newest first


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
            with connected(self.path) as connection:
                connection.execute(
                    "INSERT INTO jobs (name, provider, base, run, state, reason, proof, world_size,"
                    " created, checkpoint, definition, details, nonce)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), ?, ?, ?)",
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
                        bound(entry.checkpoint),
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
        columns = ", ".join(f"{column} = {PARAMETER.get(column, '?')}" for column in changes)
        final = ", ".join(f"'{state}'" for state in sorted(FINAL_STATES))
        with connected(self.path) as connection:
            connection.execute(
                f"UPDATE jobs SET {columns} WHERE provider = ? AND name = ?"
                f" AND state NOT IN ({final})",
                (*map(bound, changes.values()), entry.provider, entry.name),
            )

    def note(self, entry: Entry, name: str, value: Any) -> None:
        """Set one of a job's details, also of a job that has ended."""
        with connected(self.path) as connection:
            connection.execute(
                "UPDATE jobs SET details = json_set(details, ?, json(?))"
                " WHERE provider = ? AND name = ?",
                (f"$.{name}", json.dumps(value), entry.provider, entry.name),
            )

    def forget(self, entry: Entry) -> None:
        """Take an entry back of which nothing came; one that has gone on meanwhile stays."""
        with connected(self.path) as connection:
            connection.execute(
                "DELETE FROM jobs WHERE provider = ? AND name = ? AND state = ?",
                (entry.provider, entry.name, entry.state),
            )

    def get(self, provider: str, name: str) -> Entry | None:
        """The job of exactly that name."""
        found = self._select("WHERE provider = ? AND name = ?", (provider, name))
        return next(iter(found), None)

    def jobs(self, wanted: Wanted | None = None, newest: int | None = None) -> list[Entry]:
        """Jobs, the newest first: all, or those that have not ended and the ``newest`` besides."""
        where, values = (wanted or Wanted()).condition
        if newest is None:
            return self._select(f"WHERE {where} ORDER BY created DESC, run DESC", values)
        return self._select(
            f"WHERE rowid IN (SELECT rowid FROM jobs WHERE {where}"
            " ORDER BY created DESC, run DESC LIMIT ?)"
            f" OR rowid IN (SELECT rowid FROM jobs WHERE {UNFINISHED} AND {where})"
            " ORDER BY created DESC, run DESC",
            (*values, newest, *values),
        )

    def count(self, wanted: Wanted | None = None) -> int:
        """How many jobs there are."""
        where, values = (wanted or Wanted()).condition
        found = self._rows(f"SELECT count(*) FROM jobs WHERE {where}", values)
        return sum(number for (number,) in found)

    def runs(self, provider: str, base: str) -> list[Entry]:
        """The runs of one job, by run number."""
        return self._select("WHERE provider = ? AND base = ? ORDER BY run", (provider, base))

    def find(self, word: str) -> Entry:
        """The job that a user means: an exact name, else a unique prefix.

        A name without its run number means the newest run.

        Raises:
            LaunchError: None matches, or several do.
        """
        where, _, name = word.rpartition(":")
        exact = self._select(
            "WHERE name = ? ORDER BY created DESC, run DESC LIMIT 1", (word,)
        ) or self._select("WHERE provider = ? AND name = ?", (where, name))
        for entry in exact:
            return entry
        near = "WHERE name >= ? AND name < ?"
        ends = (word, f"{word}\U0010ffff")
        query = f"SELECT base FROM jobs {near} GROUP BY provider, base ORDER BY max(created) DESC"
        bases = self._rows(query, ends) if word else []
        if len(bases) == 1:
            (newest,) = self._select(f"{near} ORDER BY run DESC LIMIT 1", ends)
            return newest
        if bases:
            raise LaunchError(
                RULES["job-ambiguous"].at(
                    "JOB",
                    f"{word} ({len(bases)} jobs begin so)",
                    "a prefix of one job",
                    f"one of {', '.join(str(base) for (base,) in bases[:_OFFERED])}",
                )
            )
        recent = self._rows("SELECT name FROM jobs ORDER BY created DESC LIMIT ?", (_NEAR,))
        raise LaunchError(
            RULES["job-unknown"].at(
                "JOB",
                word,
                "a job of `launch list`",
                did_you_mean(word, [str(name) for (name,) in recent]) or "see `launch list`",
            )
        )

    def _select(self, rest: str, values: tuple[Any, ...]) -> list[Entry]:
        rows = self._rows(f"SELECT {SELECTED} FROM jobs {rest}", values)
        return [read(row) for row in rows]

    def _rows(self, query: str, values: tuple[Any, ...]) -> Sequence[Any]:
        """The rows of ``query``; none where there is no ledger yet."""
        if not is_there(self.path):
            return ()
        with connected(self.path) as connection:
            return connection.execute(query, tuple(map(bound, values))).fetchall()

"""The ledger's file: its schema's versions, and a connection to it.

SQLite's ``user_version`` is the schema's. Ledgers of the first launchers have none: the columns
tell which of the two they are. A step is never changed once it was released; a new one is added,
and `tests/core/records/ledgers` gets a file of its schema.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from launchers.core.bounded import other_kind
from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.open_flags import flags
from launchers.core.printable import is_utf8

_WAIT_SECONDS = 30
# Of a file that SQLite cannot read, or whose tables are not those of the schema that it names.
_DAMAGED = ("malformed", "not a database", "no such table", "no such column")

# What makes of each version the next one; the first of nothing.
STEPS = (
    """
    CREATE TABLE jobs (
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
        PRIMARY KEY (provider, name)
    );
    CREATE INDEX jobs_by_base ON jobs (provider, base, run);
    """,
    "ALTER TABLE jobs ADD COLUMN nonce TEXT NOT NULL DEFAULT '';",
    """
    CREATE INDEX jobs_by_name ON jobs (name, provider, base, run);
    CREATE INDEX jobs_by_time ON jobs (created, run, state, provider);
    CREATE INDEX jobs_unfinished ON jobs (created, run)
        WHERE state NOT IN ('failed', 'lost', 'not proven', 'stopped', 'succeeded', 'timed out');
    -- What a command line started last; `files` are its source's digests, compressed JSON.
    CREATE TABLE commands (
        command TEXT PRIMARY KEY,
        provider TEXT NOT NULL,
        name TEXT NOT NULL,
        used REAL NOT NULL,          -- seconds since the epoch
        files BLOB NOT NULL
    );
    """,
)
LATEST = len(STEPS)
# A job whose state is none of these may still run. The index above has it word by word.
UNFINISHED = "state NOT IN ('failed', 'lost', 'not proven', 'stopped', 'succeeded', 'timed out')"


def bound(value: Any) -> Any:
    """``value`` as SQLite takes it: a text that is no UTF-8 (PEP 383) as its bytes, which are equal
    to no text of the ledger."""
    if not isinstance(value, str) or is_utf8(value):
        return value
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, as Windows' names may have
        return value.encode("utf-8", "replace")


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction in the ledger at ``path``, which is made, or brought to today's schema.

    Raises:
        LaunchError: It cannot be read or written, is held by another process, or was made by a
            newer launcher.
        sqlite3.IntegrityError: A row of that name is there already.
    """
    try:
        _make_private(path)
        connection = sqlite3.connect(path, timeout=_WAIT_SECONDS)
        try:
            # A damaged text hides no other.
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            _bring_up_to_date(connection, path)
            with connection:
                yield connection
        finally:
            connection.close()
    except sqlite3.IntegrityError:
        raise
    except (sqlite3.Error, OSError) as error:
        raise LaunchError(_problem(path, error)) from None


def is_there(path: Path) -> bool:
    """Whether there is a ledger at ``path``.

    Raises:
        LaunchError: Its folder does not say so: another user's.
    """
    try:
        return path.exists()
    except OSError as error:
        raise LaunchError(_problem(path, error)) from None


def _problem(path: Path, error: Exception) -> Problem:
    """By SQLite's words (sqlite3ErrStr in its main.c): Python tells its codes from 3.11 on."""
    found, rule = getattr(error, "strerror", None) or str(error), "ledger-unusable"
    if isinstance(error, sqlite3.DatabaseError) and any(words in found for words in _DAMAGED):
        rule = "ledger-unreadable"
    elif isinstance(error, IsADirectoryError):
        found, rule = "a folder", "ledger-unreadable"
    elif isinstance(error, sqlite3.OperationalError) and "locked" in found:
        rule = "ledger-locked"
    return RULES[rule].at(str(path), found)


def _make_private(path: Path) -> None:
    """The file is its owner's alone from its first byte on, and so is one that was copied
    with other rights.

    Raises:
        LaunchError: It is no file: whoever reads a named pipe waits for ever.
    """
    descriptor = os.open(path, flags(os.O_RDONLY | os.O_CREAT, "O_NONBLOCK"), 0o600)
    try:
        other = other_kind(os.fstat(descriptor).st_mode)
        if other:
            raise LaunchError(RULES["ledger-unreadable"].at(str(path), other))
        # Windows has no such rights: a user's own folder is the user's alone there.
        if hasattr(os, "fchmod") and os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection, path) == LATEST:
        return
    connection.isolation_level = None  # Python would begin and end transactions by itself
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have been quicker.
            for number in range(_version(connection, path), LATEST):
                for statement in _statements(STEPS[number]):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {LATEST}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    finally:
        connection.isolation_level = "DEFERRED"


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The schema that the file has; 0 for an empty one.

    Raises:
        LaunchError: A newer one than this launcher knows.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > LATEST:
        found = f"schema {version}, written by a newer launch"
        raise LaunchError(RULES["ledger-newer"].at(str(path), found, f"schema {LATEST} at most"))
    if version:
        return int(version)
    columns = [column[1] for column in connection.execute("PRAGMA table_info(jobs)")]
    return 0 if not columns else 2 if "nonce" in columns else 1

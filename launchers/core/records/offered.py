"""The jobs that a shell offers: read from the ledger's file as it is, for a press of a key."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from launchers.core.printable import printable

_LOCKED_SECONDS = 0.2
_QUERY = """
    SELECT name, state FROM jobs WHERE name >= ? AND name < ?
    ORDER BY created DESC, run DESC LIMIT ?
"""


def names_beginning(ledger: Path, word: str, most: int) -> list[tuple[str, str]]:
    """Names that begin so, each with its job's state as the ledger has it, the newest first.

    Nothing is made, written or told; what cannot be read is not there.
    """
    if not os.path.isfile(ledger):  # of a named pipe SQLite would wait for a writer
        return []
    try:
        connection = sqlite3.connect(
            f"{ledger.as_uri()}?mode=ro", uri=True, timeout=_LOCKED_SECONDS
        )
        try:
            found = connection.execute(_QUERY, (word, f"{word}\U0010ffff", most))
            return [(printable(str(name)), str(state)) for name, state in found]
        finally:
            connection.close()
    except sqlite3.Error:
        return []

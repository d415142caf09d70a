"""What each command started last, in the ledger.

The same command is told by digests, the strictest first: all that the job's user asked for, be it
by flags or by a file; what the command line alone says; the script and the folder of its source. Of
a sweep the first tells the jobs apart, of two launch.yaml the second.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from typing import NamedTuple

from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.records.ledger_file import connected, is_there
from launchers.core.spec.job import JobSpec, is_flag
from launchers.core.spec.option import default_of, option_fields

# Where a job goes and what it is called makes it no other; what runs is told by its place.
_NOT_ASKED = frozenset(
    {"name", "region", "bucket", "allow_values", "notify", "script", "module", "source"}
)
# Rows of which the ledger keeps no more; three a job.
_KEPT = 1500


class Last(NamedTuple):
    """The job that a command made last.

    Attributes:
        command: The digest by which it was found.
        base: Its name without the run number.
        definition: Its document, without the nonce.
        files: Its source's digests (:mod:`launchers.core.differences.files`).
    """

    command: str
    name: str
    base: str
    definition: str
    files: bytes


def commands_of(job: JobSpec, folder: str, program: Sequence[str]) -> tuple[str, ...]:
    """The digests by which the command that asked for ``job`` is found again.

    Args:
        folder: The source's, absolute.
        program: What runs in it.
    """
    asked = {}
    for holder in (job, job.options):
        for item, _ in option_fields(type(holder)) if holder is not None else ():
            value = getattr(holder, item.name)
            # A flag that only a newer launcher has must not make an old command another.
            if item.name not in _NOT_ASKED and value != default_of(item):
                asked[item.name] = value
    words = {name: value for name, value in asked.items() if is_flag(job.origins.get(name, ""))}
    place = [job.provider, folder, list(program)]
    return tuple(_digest(value) for value in ([place, asked, 0], [place, words, job.files], place))


def last_of(ledger: Ledger, commands: Sequence[str]) -> Last | None:
    """The last job of the first of ``commands`` that made one; changes nothing."""
    if not is_there(ledger.path):
        return None
    with connected(ledger.path) as connection:
        rows = connection.execute(
            "SELECT command, jobs.name, base, definition, files FROM commands"
            " JOIN jobs ON jobs.provider = commands.provider AND jobs.name = commands.name"
            f" WHERE command IN ({', '.join('?' * len(commands))})",
            tuple(commands),
        ).fetchall()
    found = {row[0]: Last(*row) for row in rows if _is_sound(row)}
    return next((found[command] for command in commands if command in found), None)


def note(ledger: Ledger, commands: Sequence[str], entry: Entry, files: bytes) -> None:
    """Keep ``entry`` as the last job of ``commands``; those that were used last are kept."""
    now = time.time()
    with connected(ledger.path) as connection:
        connection.executemany(
            "INSERT OR REPLACE INTO commands VALUES (?, ?, ?, ?, ?)",
            [(command, entry.provider, entry.name, now, files) for command in commands],
        )
        connection.execute(
            "DELETE FROM commands WHERE command NOT IN"
            " (SELECT command FROM commands ORDER BY used DESC LIMIT ?)",
            (_KEPT,),
        )


def _is_sound(row: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in row[:4]) and isinstance(row[4], bytes)


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

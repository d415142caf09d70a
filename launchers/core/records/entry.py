"""A job of the ledger, and how its row is read.

A row that is damaged stays one job of many: what can be read of it is shown, and nothing is asked
for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED, JobHandle

INTENT = "intent"


@dataclass(frozen=True)
class Entry:
    """One job of the ledger. Times are seconds since the epoch, UTC.

    Attributes:
        nonce: The job's (:mod:`launchers.core.records.nonce`), never shown; "" for a job of
            an older launcher.
        damaged: Which of its columns cannot be read; nothing is done for such a job.
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
    damaged: str = ""

    @property
    def final(self) -> bool:
        """Whether the job has ended."""
        return self.state in FINAL_STATES

    @property
    def handle(self) -> JobHandle:
        """What the provider finds the job by."""
        return JobHandle(self.provider, self.name, self.details)


# What each column must be, and what stands for it else.
_KINDS: tuple[tuple[str, type, Any], ...] = (
    *((name, str, "") for name in ("name", "provider", "base", "state", "reason", "proof")),
    *((name, str, "") for name in ("checkpoint", "definition", "nonce")),
    *((name, int, 0) for name in ("run", "world_size")),
    ("created", float, 0.0),
    ("ended", float, None),
    ("details", dict, {}),
)
_COLUMNS = tuple(field.name for field in fields(Entry) if field.name != "damaged")
# A folder, whose name need not be UTF-8: the bytes of its text are read and written (PEP 383).
_FOLDER = "checkpoint"
SELECTED = ", ".join(_COLUMNS).replace(_FOLDER, f"CAST({_FOLDER} AS BLOB)")
PARAMETER = {_FOLDER: "CAST(? AS TEXT)"}


def read(row: Sequence[Any]) -> Entry:
    """The row's job. A column that is not what it should be takes its default, and is named."""
    values = dict(zip(_COLUMNS, row, strict=True))
    damaged = []
    for column, kind, default in _KINDS:
        value = values[column]
        if column == "details":
            value = _object(value)
        if column == _FOLDER and isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        if kind is float and type(value) is int:
            value = float(value)
        if column == "ended" and value is None:
            continue
        if not isinstance(value, kind):
            damaged.append(column)
            value = default
        values[column] = value
    return Entry(**values, damaged=", ".join(damaged))


def _object(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def next_run(runs: list[Entry]) -> int:
    """The first run number that no job of the ledger has."""
    return max((entry.run for entry in runs), default=0) + 1


def inherited_checkpoint(runs: list[Entry]) -> Entry | None:
    """The run whose checkpoint folder the next one keeps: the last, where it ended without
    success. One that still runs writes there itself."""
    last = max(runs, key=lambda entry: entry.run, default=None)
    return last if last is not None and last.final and last.state != SUCCEEDED else None

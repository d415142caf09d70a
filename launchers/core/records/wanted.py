"""Which of the ledger's jobs are meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from launchers.core.records.ledger_file import UNFINISHED


@dataclass(frozen=True)
class Wanted:
    """Which jobs are meant; a filter that is not given lets all pass.

    Attributes:
        state: A job that has not ended passes: where it stands now is not in the ledger.
        since: In seconds since the epoch.
    """

    provider: str = ""
    state: str = ""
    since: float = 0.0

    @property
    def condition(self) -> tuple[str, tuple[Any, ...]]:
        """As SQL, with its values."""
        parts: list[str] = []
        values: list[Any] = []
        for part, value in (
            ("created >= ?", self.since),
            ("provider = ?", self.provider),
            (f"(state = ? OR {UNFINISHED})", self.state),
        ):
            if value:
                parts.append(part)
                values.append(value)
        return " AND ".join(parts) or "1", tuple(values)

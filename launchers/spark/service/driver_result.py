"""The result file of the driver program: how the job ended, as the program says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launchers.core.model.jobs import FAILED

_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class DriverResult:
    """What the launcher takes of it.

    Attributes:
        state: ``succeeded`` or ``failed``.
        failed_rank: The first that failed; None where none did.
        host: Its host.
        last_lines: Of that rank, the oldest first.
    """

    state: str
    reason: str = ""
    fix: str = ""
    proof: str = ""
    failed_rank: int | None = None
    host: str = ""
    last_lines: tuple[str, ...] = field(default=())

    def lines(self) -> Iterator[str]:
        """As the driver would have printed them: the failed rank's, then the reason."""
        for text in self.last_lines:
            yield f"[{self.host or 'driver'}/{self.failed_rank}] {text}"
        if self.reason:
            yield f"[driver/agent] launch: {self.reason}"


def read_result(path: Path, stamp: str) -> DriverResult | None:
    """What the driver wrote; None where there is nothing, or another job's.

    Args:
        stamp: The job's, which its own result carries.
    """
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.read(_MOST_BYTES))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or (stamp and found.get("stamp") != stamp):
        return None
    rank = found.get("failed_rank")
    return DriverResult(
        state=str(found.get("state") or FAILED),
        reason=_line(found.get("reason")),
        fix=_line(found.get("fix")),
        proof=_line(found.get("proof")),
        failed_rank=rank if isinstance(rank, int) else None,
        host=_host_of(found.get("ranks"), rank),
        last_lines=tuple(map(_line, found.get("last_lines") or ())) if rank is not None else (),
    )


def _host_of(ranks: Any, rank: Any) -> str:
    for one in ranks if isinstance(ranks, list) else ():
        if isinstance(one, Mapping) and one.get("rank") == rank:
            return _line(one.get("host"))
    return ""


def _line(value: Any) -> str:
    return " ".join(value.split("\n")) if isinstance(value, str) else ""

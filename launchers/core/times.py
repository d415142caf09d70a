"""A moment as a program reads it."""

from __future__ import annotations

from datetime import datetime, timezone


def iso_time(seconds: float | None) -> str | None:
    """ISO 8601 in UTC, to the millisecond; None where there is no such moment.

    Args:
        seconds: Since the epoch.

    Example:
        >>> iso_time(1764547200.25)
        '2025-12-01T00:00:00.250Z'
    """
    if seconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(seconds, timezone.utc)
    except (ValueError, OverflowError, OSError):  # a damaged row of the ledger
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""How sizes, variants and figures of a study are written, in the verdict, charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from launchers.core.printable import printable
from launchers.scaling.results import Row, Size, Study

# A reason or a name longer than this is cut; logs have the rest.
LONGEST = 300


def line(text: str, longest: int = LONGEST) -> str:
    """``text`` of a job, a user or a service as one line without control characters."""
    shown = printable(text).strip()
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def plural(count: int, word: str) -> str:
    """``1 run``, ``3 runs``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def world(row: Row, study: Study) -> str:
    """The whole of a row: ``4 ranks``; ``4 devices`` where a process has several, and ``1 device``
    beside those."""
    has_one_each = row.size.gpus == row.size.processes and any(map(_has_devices, study.rows))
    return plural(row.world_size, "device" if _has_devices(row) or has_one_each else "rank")


def _has_devices(row: Row) -> bool:
    return row.world_size != row.size.instances * row.size.processes


def size(row: Row, study: Study) -> str:
    """``2 ranks``, ``4 devices``; ``2 hosts x 4 ranks`` in a study of several hosts; ``1 rank with
    2 GPUs`` where another row is as large and has other GPUs."""
    hosts = row.size.instances
    text = world(row, study)
    if any(one.size.instances != 1 for one in study.rows):
        unit = text.split(" ", 1)[1].removesuffix("s")
        text = f"{plural(hosts, 'host')} x {plural(row.world_size // hosts, unit)}"
    alike = (
        one.size.gpus != row.size.gpus
        for one in study.rows
        if (one.world_size, one.size.instances) == (row.world_size, hosts)
    )
    gpus = row.size.gpus
    if gpus is None or "device" in text or not any(alike):
        return text
    return f"{text} with {plural(gpus, 'GPU')}"


def variant(of: Size, beside: Size | None = None) -> str:
    """``lr-scaling linear``; with ``beside`` only what that has otherwise."""
    others = dict(beside.variant) if beside else {}
    parts = (f"{name} {value}" for name, value in of.variant if others.get(name) != value)
    return line(", ".join(parts))


def series(row: Row, study: Study) -> str:
    """What names the row among all: ``lr-scaling linear, 2 ranks``."""
    return ", ".join(filter(None, (variant(row.size), size(row, study))))


def times(value: float) -> str:
    """A ratio: two decimals near 1, else one.

    Example:
        >>> times(1.04), times(1.66), times(0.62), times(12.0)
        ('1.04', '1.7', '0.62', '12.0')
    """
    return f"{value:.2f}" if value < 1.25 else f"{value:.1f}"


def seconds(value: float) -> str:
    """Three digits or more: ``0.123``, ``12.3``, ``1,234``."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rate(value: float) -> str:
    """Images a second: ``5,120``, ``93.5``."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def share(value: float) -> str:
    """An accuracy from 0 to 1, four decimals as in result lines."""
    return f"{value:.4f}"


def percent(value: float) -> str:
    """An efficiency: ``85 %``."""
    return f"{100 * value:.0f} %"


def dollars(value: float) -> str:
    """``$1.20``; four decimals below a cent."""
    return f"${value:,.2f}" if value >= 0.01 or value == 0 else f"${value:.4f}"


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def moment(text: str) -> str:
    """``23 November 2026, 14:05 UTC`` of ISO 8601; what is something else stays as it is."""
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except ValueError:
        return line(text)
    return f"{when.day} {when:%B %Y, %H:%M} UTC"

"""Where a training stands, in words for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launchers.core.printable import printable

if TYPE_CHECKING:
    from launchers.core.output.training_progress.state import Progress

_MOST_METRICS = 12


def bar_words(progress: Progress) -> str:
    """What stands beside a bar: the place, the rate, the loss."""
    return "  ".join([*_place(progress), *_metrics(progress)[:1]])


def training_lines(progress: Progress, now: float | None = None) -> list[str]:
    """The lines of ``launch status``: the place with rate and time left, then the metrics.

    Args:
        now: In seconds since the epoch, for a job that has not ended: how much time is left, and
            for how long nothing was heard.
    """
    first = _place(progress)
    if now is not None:
        first += _times(progress, now)
    metrics = _metrics(progress)
    if len(metrics) > _MOST_METRICS:
        metrics = [*metrics[:_MOST_METRICS], f"and {len(metrics) - _MOST_METRICS} more"]
    return [line for line in ("  ".join(first), "  ".join(metrics)) if line]


def _place(progress: Progress) -> list[str]:
    parts = progress.place.split(", ") if progress.place else []
    if progress.rate is not None:
        digits = 0 if progress.rate >= 100 else 1 if progress.rate >= 10 else 2
        parts.append(f"{progress.rate:,.{digits}f} {progress.unit}/s")
    return parts


def _metrics(progress: Progress) -> list[str]:
    """``loss`` first, then as they were printed."""
    names = sorted(progress.metrics, key=lambda name: name != "loss")
    return [f"{printable(name)} {progress.metrics[name]:.4g}" for name in names]


def _times(progress: Progress, now: float) -> list[str]:
    parts: list[str] = []
    left, epoch_left = progress.left_at(now), progress.epoch_left_at(now)
    if left is not None:
        parts.append(f"about {spoken(left)} left")
    elif epoch_left is not None:
        parts.append(f"about {spoken(epoch_left)} of this epoch left" if progress.of else "")
    if progress.is_late_at(now) and progress.at is not None:
        parts.append(f"nothing heard for {spoken(now - progress.at)}")
    return [part for part in parts if part]


def spoken(seconds: float) -> str:
    """``45s``, ``3m 20s``, ``2h 5m``, ``3d 4h``: two parts at the most."""
    whole = max(0, round(seconds))
    parts: list[str] = []
    for name, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, whole = divmod(whole, size)
        if count or (name == "s" and not parts):
            parts.append(f"{count}{name}")
        elif parts:
            break
    return " ".join(parts[:2])

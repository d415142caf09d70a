"""What is said of a rehearsal that had to begin again: capacity taken back, a transient failure."""

from __future__ import annotations

from dataclasses import replace

from launchers.core.model.containers import Conduct
from launchers.rehearsal.course.attempt import ENDED, AttemptEnd, Seen


def before_interruption(seen: Seen, end: AttemptEnd, conduct: Conduct) -> str:
    """How far it came, and whether anything heard the SIGTERM."""
    if end.heard:
        heard = f"SIGTERM was seen: {end.heard}"
    else:
        heard = f"no rank saw SIGTERM{': ' + conduct.unheard if conduct.unheard else ''}"
    return f"before the interruption: {_reached(seen)}; {heard}"


def after_interruption(seen: Seen) -> str:
    """Whether it went on where the checkpoints were."""
    first, after = seen.first_progress, "after the interruption"
    if first is None:
        return f"{after}: no rank printed its progress, so it is not known where it began"
    epoch = replace(first, step=None).place
    began = "started over" if first.epoch in (None, 1) else f"went on from {epoch}"
    return f"{after}: {began}, {_reached(seen)}"


def is_tried_again(end: AttemptEnd, conduct: Conduct, retries: int) -> bool:
    """Whether the service would run the whole job again.

    Args:
        retries: How often it has.
    """
    if end.kind != ENDED or end.ending is None or end.ending.well:
        return False
    return end.ending.code in conduct.retried_codes and retries < conduct.retries


def tried_again(end: AttemptEnd, conduct: Conduct, number: int) -> str:
    """That it does, and why."""
    assert end.ending is not None
    return (
        f"{end.ending.fault}, which the service takes for a passing fault: it runs the whole job "
        f"again ({number} of {conduct.retries} times at most)"
    )


def _reached(seen: Seen) -> str:
    progress = seen.watch.progress
    if progress is None:
        return "no rank printed its progress"
    return f"reached {progress.place}"

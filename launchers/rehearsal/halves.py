"""What is said of a rehearsal whose capacity was taken back half way."""

from __future__ import annotations

from launchers.core.containers import Conduct
from launchers.rehearsal.act import ActEnd, Seen


def first_half(seen: Seen, end: ActEnd, conduct: Conduct) -> str:
    """How far it came, and whether anything heard the SIGTERM."""
    if end.heard:
        heard = f"SIGTERM was seen: {end.heard}"
    else:
        heard = f"no rank saw SIGTERM{': ' + conduct.unheard if conduct.unheard else ''}"
    return f"first half: {_reached(seen)}; {heard}"


def second_half(seen: Seen) -> str:
    """Whether it went on where the first half's checkpoints were."""
    first = seen.first_progress
    if first is None:
        return "second half: no rank printed its progress, so where it began is not known"
    anew = first.epoch == 1
    began = "began anew" if anew else f"went on from epoch {first.epoch}/{first.epochs}"
    return f"second half: {began}, {_reached(seen)}"


def _reached(seen: Seen) -> str:
    progress = seen.watch.progress
    if progress is None:
        return "no rank printed its progress"
    return (
        f"reached epoch {progress.epoch}/{progress.epochs}, step {progress.step}/{progress.steps}"
    )

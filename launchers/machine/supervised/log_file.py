"""A job's log file, read while it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import parse_tagged

_POLL_SECONDS = 0.1


def lines_of(path: Path, follow: bool, has_ended: Callable[[], bool]) -> Iterator[str]:
    """The file's lines, without their ends; with ``follow`` until the job has ended.

    A byte that is no UTF-8 is a lone surrogate in the text (PEP 383). Blocks while it follows.

    Args:
        has_ended: Whether nothing is written any more; asked now and then.
    """
    ended = not follow
    while not path.exists():
        if ended:
            return
        ended = has_ended()
        time.sleep(_POLL_SECONDS)
    with path.open("r", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
        partial = ""
        checked = time.monotonic()
        while True:
            text = stream.readline()
            if text.endswith("\n"):
                yield (partial + text).removesuffix("\n")
                partial = ""
                continue
            partial += text
            if text:
                continue
            if ended:
                break
            # Ask first whether it has ended, then read what came meanwhile.
            if time.monotonic() - checked > 2 * _POLL_SECONDS:
                ended = has_ended()
                checked = time.monotonic()
                if ended:
                    continue
            time.sleep(_POLL_SECONDS)
        if partial:
            yield partial


def timed(text: str) -> LogLine:
    """A line of ``job.log``: its time, then the tagged line."""
    moment, _, tagged = text.partition(" ")
    return parse_tagged(tagged, _seconds(moment))


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # a line that was cut by a full disk
        return 0.0

"""The lines that agent and guard print. A launcher reads them, so their form is a contract.

``launch: proof: ...``, ``launch: failure: {...}`` and ``launch: evidence: {...}``
(evidence/lines.py) are read by machines and carry the job's stamp; every other line that begins
with ``launch: `` is for people. One line each.
"""

from __future__ import annotations

import json
import os
from typing import Mapping, Sequence

PREFIX = "launch: "
REASON_LIMIT = 400  # characters; a line of a pipe is atomic below 4096 bytes
_MOST_NAMED = 8  # ranks of a sentence


def message(text: str) -> str:
    """A line for people."""
    return PREFIX + one_line(text, limit=2000)


def warning(text: str) -> str:
    """A line for people that something may be wrong, while the job goes on."""
    return message("warning: " + text)


def world(size: int, hosts: int, processes: int, controller: str, noun: str = "rank") -> str:
    """What a proof says. ``noun`` is what each host has ``processes`` of.

    Example:
        >>> world(4, 2, 2, "Gloo")
        'world size 4: 2 hosts x 2 ranks, Gloo'
    """
    return "world size {}: {} x {}, {}".format(
        size, count(hosts, "host"), count(processes, noun), controller
    )


def proof(text: str, stamp: str = "") -> str:
    """What a launcher must have seen before it calls a job succeeded.

    Args:
        text: From :func:`world`, and at the job's end what is known of the training.
        stamp: The job's, or "".

    Example:
        >>> proof("world size 4: 2 hosts x 2 ranks, Gloo", "0123456789abcdef")
        'launch: proof: world size 4: 2 hosts x 2 ranks, Gloo [0123456789abcdef]'
    """
    return f"{PREFIX}proof: {one_line(text)}" + (f" [{stamp}]" if stamp else "")


def failure(fields: Mapping[str, object], stamp: str = "") -> str:
    """The line that says what failed first."""
    return PREFIX + "failure: " + json.dumps({**fields, "stamp": stamp} if stamp else fields)


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 host``, ``2 hosts``."""
    return "{} {}{}".format(number, noun, "" if number == 1 else "s")


def and_list(words: list[str]) -> str:
    """Words as a sentence has them: ``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def ranks(numbers: Sequence[int]) -> str:
    """Ranks by number: ``rank 3``, ``ranks 0 and 1``; of more than eight, how many more."""
    words = [str(number) for number in numbers[:_MOST_NAMED]]
    if len(numbers) > _MOST_NAMED:
        words.append(f"{len(numbers) - _MOST_NAMED} more")
    return ("rank " if len(numbers) == 1 else "ranks ") + and_list(words)


def one_line(text: str, limit: int = REASON_LIMIT) -> str:
    """``text`` without line ends and control characters, cut to ``limit`` characters."""
    flat = " ".join(text.split())
    flat = "".join(letter if letter.isprintable() else "?" for letter in flat)
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."


def shown(text: str, limit: int = 2000) -> str:
    """A line of a rank as it may be printed again: its blanks stay, control characters do not."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:limit])


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of ``data``; blocks as long as the reader does.

    Raises:
        OSError: The other side is gone, or the disk is full.
    """
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:  # whoever started us made it non-blocking
            os.set_blocking(descriptor, True)

"""The tracebacks in a job's lines: one is shown, that of the rank that failed first.

Ranks that run the same script fail alike, and those that wait for a rank that has ended fail of
that. Whoever reads the job's own log (``launch logs JOB --raw``) finds them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from launchers.core.model.jobs import LogLine

_BEGIN = "Traceback (most recent call last)"
_CONNECTING = (
    "During handling of the above exception",
    "The above exception was the direct cause",
)
_LONGEST = 400  # lines of one traceback

Key = tuple[str, "int | None"]


class TracebackFolder:
    """Takes a job's lines and gives those to show; what it keeps to itself is counted.

    A rank's traceback comes out whole, with no other rank's lines in it. Once a failure is known,
    only the failing rank's is shown. Before that the first one is, and every one that is another;
    but what says that a peer has ended waits until it is known who that was, or until its rank is
    seen to go on.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._open: dict[Key, list[LogLine]] = {}  # tracebacks that are not whole yet
        self._waiting: dict[Key, list[LogLine]] = {}  # lines that may only follow from a failure
        self._seen: dict[str, Key] = {}  # a traceback's text, numbers aside -> whose it was first
        self._quiet: set[Key] = set()  # whose last traceback is not shown
        self._alike: dict[Key, list[int]] = {}  # the first -> ranks that had the same
        self.shown: set[int] = set()  # ranks of which one was shown, or the same of another

    def feed(self, line: LogLine, failure: Mapping[str, Any] | None = None) -> Iterator[LogLine]:
        """The lines to show now.

        Args:
            failure: The first one of the job that is known, as ``JobWatch.failure`` has it.
        """
        key = (line.host, line.rank)
        block = self._open.get(key)
        if block is not None:
            block.append(line)
            ended = not line.text.startswith((" ", "\t")) and bool(line.text)
            if ended or len(block) >= _LONGEST:
                yield from self._close(key, failure)
        elif line.rank is None:
            yield line
        elif line.text.startswith(_BEGIN):
            self._open[key] = [line]
        elif key in self._quiet and (failure or _connects(line.text)):
            self.left_out += 1
        elif _says_peer_ended(line.text):
            yield from self._wait(key, [line], failure)
        else:
            if line.text.strip():
                self._quiet.discard(key)
                yield from self._waiting.pop(key, ())
            yield line

    def flush(self, failure: Mapping[str, Any] | None = None) -> Iterator[LogLine]:
        """What is still held back, at the job's end."""
        for key in list(self._open):
            yield from self._close(key, failure)
        for key, lines in self._waiting.items():
            if self.shown or _is_known(failure):
                self.left_out += len(lines)
            else:
                self.shown.update({key[1] or 0} if _begins(lines) else set())
                yield from lines
        self._waiting.clear()
        for (host, rank), others in self._alike.items():
            names = ", ".join(map(str, sorted(set(others))))
            noun = "rank" if len(set(others)) == 1 else "ranks"
            yield LogLine(0.0, host, rank, f"(the same traceback from {noun} {names})")
        self._alike.clear()

    def _close(self, key: Key, failure: Mapping[str, Any] | None) -> Iterator[LogLine]:
        block = self._open.pop(key)
        if _is_known(failure) and failure and failure.get("rank") is not None:
            passes = failure["rank"] == key[1]
        elif _says_peer_ended(block[-1].text):
            yield from self._wait(key, block, failure)
            return
        else:
            text = re.sub(r"\d+", "#", "\n".join(line.text for line in block))
            first = self._seen.setdefault(text, key)
            passes = first == key
            if not passes:
                self._alike.setdefault(first, []).append(key[1] or 0)
                self.shown.add(key[1] or 0)
        if passes:
            self._quiet.discard(key)
            self.shown.add(key[1] or 0)
            yield from self._waiting.pop(key, ())
            yield from block
        else:
            self._quiet.add(key)
            self.left_out += len(block)

    def _wait(
        self, key: Key, lines: list[LogLine], failure: Mapping[str, Any] | None
    ) -> Iterator[LogLine]:
        """``lines`` say that a peer has ended."""
        if _is_known(failure):
            self.left_out += len(lines)
            return
        waiting = self._waiting.setdefault(key, [])
        waiting.extend(lines)
        if len(waiting) > _LONGEST:
            yield from self._waiting.pop(key)


def traceback_in(texts: Sequence[str]) -> list[str]:
    """The last traceback in a rank's lines, with those that it followed from; else nothing."""
    starts = [place for place, text in enumerate(texts) if text.startswith(_BEGIN)]
    if not starts:
        return []
    begin = starts[-1]
    for before in reversed(starts[:-1]):
        between = [text for text in texts[before:begin] if text.startswith(_CONNECTING)]
        if not between:
            break
        begin = before
    end = starts[-1] + 1
    while end < len(texts) and (texts[end].startswith((" ", "\t")) or not texts[end]):
        end += 1
    return list(texts[begin : end + 1])


def _is_known(failure: Mapping[str, Any] | None) -> bool:
    """Whether it is a cause: not itself what a rank meets when another one has gone."""
    return bool(failure) and not _says_peer_ended(str((failure or {}).get("reason", "")))


def _begins(lines: Sequence[LogLine]) -> bool:
    return any(line.text.startswith(_BEGIN) for line in lines)


def _connects(text: str) -> bool:
    return not text.strip() or text.startswith(_CONNECTING)


def _says_peer_ended(text: str) -> bool:
    return _ranks_own_words()(text)


@cache
def _ranks_own_words() -> Callable[[str], bool]:
    from launchers.core.shipped import runtime

    says: Callable[[str], bool] = runtime("rank.tracebacks").says_peer_ended
    return says

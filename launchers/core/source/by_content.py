"""What was found out about contents, kept for whoever asks about the same bytes again.

A study plans one script at every size, a notebook's kernel the same tree at every launch. What is
kept goes by the bytes and by nothing else, so that an edited file is always read anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_T = TypeVar("_T")
# Of one question; a content that takes more than an eighth of it alone is not kept.
KEPT_BYTES = 2_000_000


class ByContent(Generic[_T]):
    """Answers to one question about contents; those of the contents asked for last are kept.

    Args:
        find: Answers it from the content alone. Whoever asks gets the same object: nobody may
            change it.
        at_most: Bytes of contents that are kept with their answers.
    """

    def __init__(self, find: Callable[[bytes], _T], at_most: int = KEPT_BYTES) -> None:
        self._find = find
        self._at_most = at_most
        self._answers: OrderedDict[bytes, _T] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __call__(self, content: bytes) -> _T:
        """The answer for a content.

        Raises:
            Exception: What ``find`` raises; it is asked again the next time.
        """
        with self._lock:
            if content in self._answers:
                self._answers.move_to_end(content)
                return self._answers[content]
        answer = self._find(content)
        if len(content) <= self._at_most // 8:
            with self._lock:
                self._keep(content, answer)
        return answer

    def _keep(self, content: bytes, answer: _T) -> None:
        if content not in self._answers:
            self._bytes += len(content)
        self._answers[content] = answer
        while self._bytes > self._at_most:
            self._bytes -= len(self._answers.popitem(last=False)[0])

"""What the evidence of a job says, and what a script is to change where it says no."""

from __future__ import annotations

from typing import NamedTuple

OPT_OUT = "where the ranks are meant to train apart, --proof init"


class Finding(NamedTuple):
    """What the evidence of a job says.

    Attributes:
        words: For the proof line, such as ``gradients exchanged, weights equal``.
        failure: Why the job is no success, or "".
        fix: What to change where there is a failure.
        missing: Ranks that left no final record.
    """

    words: str
    failure: str = ""
    fix: str = ""
    missing: tuple[int, ...] = ()

    def adding(self, *words: str) -> Finding:
        """The same with more words; empty ones say nothing."""
        return self._replace(words=", ".join(filter(None, (self.words, *words))))

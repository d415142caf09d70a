"""The program that looks into an image, as text to hand over, and the mark of its answer."""

from __future__ import annotations

from importlib import resources

MARK = "LAUNCH-PROBE "


def source(question: str) -> list[str]:
    """Arguments behind ``python`` that make it answer ``question``: "versions" or "facts"."""
    program = resources.files(__package__) / "probe_program.py"
    return ["-c", program.read_text(encoding="utf-8"), question]

"""The program that looks into an image, as text to hand over, and the mark of its answer."""

from __future__ import annotations

import json
from importlib import resources

MARK = "LAUNCH-PROBE "


def source(question: str, given: object = None) -> list[str]:
    """Arguments behind ``python`` that make it answer ``question``.

    Args:
        question: "versions" or "facts"; "packages" or "answers", of what is given.
        given: A list of packages, or programs by their names.
    """
    program = resources.files(__package__) / "probe_program.py"
    return ["-c", program.read_text(encoding="utf-8"), question, json.dumps(given)]

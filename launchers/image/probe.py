"""The programs that look into an image, as text to hand over, and the mark of their answer."""

from __future__ import annotations

import json
from importlib import resources

MARK = "LAUNCH-PROBE "


def source(question: str, given: object = None) -> list[str]:
    """Arguments behind ``python`` that make it answer ``question``.

    Args:
        question: "versions", or one of what is given: "packages" or "quick" of a list of packages,
            "facts" or "answers" of programs by their names and the image's entry point.
    """
    return ["-c", _program("probe_program.py"), question, json.dumps(given)]


def private_keys_program() -> str:
    """What answers for "private-keys", by the shape that the launcher's own refusals go by."""
    from launchers.core.credentials.shapes import SHAPES

    pattern = next(shape.pattern for shape in SHAPES if shape.kind == "a private key")
    line, replaced = "PATTERN = b", f"PATTERN = {pattern.encode()!r}"
    lines = _program("private_keys_program.py").splitlines()
    return "\n".join(replaced if text.startswith(line) else text for text in lines)


def _program(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")

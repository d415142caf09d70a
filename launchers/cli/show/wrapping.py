"""A message's lines on a terminal: wrapped between words, below where their text began. What could
be copied, a command or a path, stays whole: the terminal itself folds what is longer than a line.
"""

from __future__ import annotations

import re

# Our own styles take no room.
_STYLE = re.compile("\x1b\\[[0-9;]*m")
# What is not cut: a word; what stands in backticks; a command in brackets, and one that a text or a
# line of its own ends with, since its first half alone could be run.
_PIECE = re.compile(
    r"(?P<gap> *)(?P<words>(?:(?<=: )|(?<=^  )|(?<=^      ))"
    r"(?:launch|pip|docker|gcloud|aws|cd) \S.*"
    r"|\(launch [^()]*\)\S*|(?:`[^`]*`|\S)+)"
)
# A label, such as `  machine      ` or `error: `, below which nothing else is to stand.
_LABEL = re.compile(r" *(?:\x1b\[[0-9;]*m)?\S+(?: \S+)?(?:\x1b\[0m)?  +(?=\S)")
_WIDEST_LABEL = 24


def wrapped(text: str, width: int) -> str:
    """``text`` with no line that is wider than ``width`` where that needs no word to be cut.

    Example:
        >>> print(wrapped("  machine  ml.g5.xlarge, 1 GPU A10G", 24))
          machine  ml.g5.xlarge,
                   1 GPU A10G
    """
    if len(text) <= width:
        return text
    return "\n".join(_wrapped(line, width) for line in text.split("\n"))


def _wrapped(line: str, width: int) -> str:
    if _size(line) <= width:
        return line
    start, indent = _start(line)
    lines = [start]
    for piece in _PIECE.finditer(line, len(start)):
        # What stands first on a line stays there, however long it is.
        if piece["gap"] and _size(lines[-1] + piece[0]) > width:
            lines.append(" " * indent + piece["words"])
        else:
            lines[-1] += piece[0]
    return "\n".join(lines)


def _start(line: str) -> tuple[str, int]:
    """How the line begins, and where those after it do."""
    label = _LABEL.match(line)
    if label and _size(label[0]) <= _WIDEST_LABEL:
        return label[0], _size(label[0])
    blank = line[: len(line) - len(line.lstrip())]
    return blank, len(blank) + 2


def _size(text: str) -> int:
    return len(_STYLE.sub("", text)) if "\x1b" in text else len(text)

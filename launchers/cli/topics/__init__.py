"""The pages of `launch help TOPIC`, one text file each: a title, at most 25 lines, and the page of
docs/ that says it at length."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Every topic by its name, ``exit-codes``."""
    return sorted(path.stem for path in _FOLDER.glob("*.txt"))


def page(name: str) -> str:
    """The whole text of a topic."""
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def title(name: str) -> str:
    """What the topic is about, in a few words."""
    with (_FOLDER / f"{name}.txt").open(encoding="utf-8") as file:
        return file.readline().strip().partition(": ")[2]

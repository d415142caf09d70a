"""The code blocks of the README and docs, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.places import ROOT

# Generated, without blocks.
GENERATED = ("rules.md",)
_COMMAND = re.compile(r"(\$ )?((\.venv/bin/)?launch(-training)? |launch$|make\b|pip |pipx |uvx? )")
_YAML = re.compile(r"# \S+\.yaml$|- [a-z_]+: |[a-z_]+:$")
_JSON = re.compile(r'[{"]')
_PYTHON = re.compile(r"(class|def|import|from) |\w+ = \w|[a-z_.]+[A-Z]\w+\($")


@dataclass(frozen=True)
class Block:
    """One block.

    Attributes:
        place: File and line, for a person.
        language: As its fence has it; empty for an indented one.
    """

    place: str
    language: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def kind(self) -> str:
        """``python``, ``yaml``, ``json``, ``commands``, or ``output``: what something prints."""
        if self.language in ("python", "yaml", "json"):
            return self.language
        if any(_COMMAND.match(line) for line in self.lines):
            return "commands"
        first = next(line for line in self.lines if line)
        kinds = {"yaml": _YAML, "json": _JSON, "python": _PYTHON}
        return next((kind for kind, sign in kinds.items() if sign.match(first)), "output")

    def commands(self) -> Iterator[str]:
        """Its command lines, each in one line, without prompt and comment."""
        lines = iter(self.lines)
        prompts = any(line.startswith("$ ") for line in self.lines)
        for line in lines:
            if not _COMMAND.match(line) or (prompts and not line.startswith("$ ")):
                continue
            whole = line.removeprefix("$ ")
            while whole.endswith(("\\", "|")):
                whole = f"{whole.rstrip(chr(92)).rstrip()} {next(lines).strip()}"
            yield re.sub(r"\s+#.*", "", whole).strip()


def pages() -> list[Path]:
    """The README and every page of docs that people write."""
    docs = sorted((ROOT / "docs").glob("*.md"))
    return [ROOT / "README.md", *(page for page in docs if page.name not in GENERATED)]


def blocks() -> list[Block]:
    """Every block of every page."""
    return [block for page in pages() for block in blocks_of(page.name, page.read_text("utf-8"))]


def blocks_of(name: str, text: str) -> Iterator[Block]:
    """The blocks of one page, fenced and indented."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = re.match(r" *```(\w*)", lines[at])
        start = at
        if fence:
            at = next(i for i in range(at + 1, len(lines)) if lines[i].lstrip().startswith("```"))
            body = lines[start + 1 : at]
        elif lines[at].startswith("    ") and (start == 0 or not lines[start - 1].strip()):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            body = [line[4:] for line in lines[start:at]]
            at -= 1
        else:
            at += 1
            continue
        while body and not body[-1].strip():
            body.pop()
        yield Block(f"{name}:{start + 1}", fence[1] if fence else "", tuple(body))
        at += 1


def words_of(command: str) -> list[str]:
    """The words of a command line, up to a pipe or redirection, without the program."""
    words = shlex.split(command)
    ends = [words.index(word) for word in ("|", ">", "<", "&&", ";") if word in words]
    return words[1 : min(ends, default=len(words))]

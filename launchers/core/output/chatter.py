"""Leaves out what a container's own programs print around a job, and tells the stages in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from launchers.core.model.jobs import LogLine

if TYPE_CHECKING:
    from launchers.core.model.chatter import Chatter


class ChatterFolder:
    """Takes a job's lines one after another; counts what it leaves out.

    Lines of ranks and our own always pass. A line that is not known passes, too.
    """

    def __init__(self, chatter: Chatter):
        self.left_out = 0
        self._stages = [(re.compile(key), text) for key, text in (chatter.stages or {}).items()]
        self._blocks = dict(chatter.blocks or {})
        self._lines = re.compile("|".join(f"(?:{one})" for one in chatter.lines) or r"(?!)")
        self._told: set[str] = set()
        self._inside: dict[str, str] = {}  # host -> the line that ends its passage

    def feed(self, line: LogLine) -> list[LogLine]:
        """What is shown in the line's place: a stage, the line, or nothing."""
        if line.rank is not None or line.text.startswith("launch: "):
            return [line]
        stages = [replace(line, text=text) for text in self._stages_in(line.text)]
        if not self._is_chatter(line):
            return [*stages, line]
        self.left_out += 1
        return stages

    def _stages_in(self, text: str) -> list[str]:
        found = []
        for pattern, told in self._stages:
            match = pattern.search(text) if told not in self._told else None
            if match:
                self._told.add(told)
                found.append(told.format(*match.groups()))
        return found

    def _is_chatter(self, line: LogLine) -> bool:
        last = self._inside.get(line.host)
        if last is not None:
            if line.text == last:
                del self._inside[line.host]
            return True
        if line.text in self._blocks:
            self._inside[line.host] = self._blocks[line.text]
            return True
        return self._lines.fullmatch(line.text) is not None

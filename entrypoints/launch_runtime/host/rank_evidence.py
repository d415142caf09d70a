"""What the agent keeps of one rank's evidence: the last record of each of its processes.

The guard's records come over the status pipe, those of other processes from the rank's state file.
Whatever a script writes to either, a bounded part of it is kept.
"""

from __future__ import annotations

import json
from typing import Any

from launch_runtime import state_file
from launch_runtime.evidence.lines import Gathering


class RankEvidence:
    """One rank's.

    Args:
        state_path: The rank's state file.
    """

    def __init__(self, state_path: str):
        self._state_path = state_path
        self._told = Gathering(world_size=1)  # by one process, as if it were rank 0

    def feed(self, line: object) -> None:
        """A part of a record that the guard has sent, one of ``encode``'s lines."""
        if isinstance(line, str):
            try:
                self._told.feed(line)
            except RecursionError:  # no guard's word
                return

    def records(self, limit: int) -> list[dict[str, Any]]:
        """The last record of each process; those that would go beyond ``limit`` bytes of JSON are
        left out, the guard's own last."""
        left = state_file.evidence(self._state_path)
        # A program in the guard's place has its process id, and the last word.
        known = {found["pid"] for found in left}
        try:
            told = state_file.newest(self._told.evidence().get(0, []))
        except RecursionError:
            told = []
        kept: list[dict[str, Any]] = []
        for found in [*(one for one in told if one["pid"] not in known), *reversed(left)]:
            limit -= len(json.dumps(found))
            if limit >= 0:
                kept.append(found)
        return kept

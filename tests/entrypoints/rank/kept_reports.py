"""A reporter of a rank that keeps what it is told, for tests in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from launch_runtime.rank.refusal import RefusalError


class Reporter:
    """Keeps what a rank says.

    Args:
        initialised: Whether the rank has joined the world.
        has_agent: Whether an agent listens.
    """

    def __init__(self, initialised: bool = False, has_agent: bool = False):
        self.initialised, self.has_agent = initialised, has_agent
        self.rank, self.host = 5, ""
        self.script_runs = False
        self.refusals: list[RefusalError] = []
        self.lines: list[str] = []
        self.proofs: list[str] = []
        self.failures: list[tuple[Any, ...]] = []
        self.masked: list[str] = []

    def refuse(self, refusal: RefusalError) -> None:
        self.refusals.append(refusal)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def proof(self, text: str) -> None:
        self.proofs.append(text)

    def failing(self, *what: Any) -> None:
        self.failures.append(what)

    def ended(self) -> None:
        raise AssertionError("the process has not ended")

    def secrets(self, parts: Sequence[str]) -> bool:
        if self.has_agent:
            self.masked += parts
        return self.has_agent

"""A Progress that remembers what it was told, and empty host settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from launchers.image.host_settings import HostSettings


@dataclass
class Told:
    """Everything that a piece of work told, in order."""

    steps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def step(self, title: str) -> None:
        self.steps.append(title)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def keep(self, text: str) -> None:
        self.kept.append(text)


NOTHING_OF_THE_HOST = HostSettings("[global]\n", b"", {}, None, ())

"""What the containers of a rehearsal must prove."""

from __future__ import annotations

from dataclasses import dataclass, field

from launchers.core import proof
from launchers.core.spec.job import EXCHANGE


@dataclass(frozen=True)
class Expected:
    """What the containers must prove.

    Attributes:
        world_size: Of this rehearsal.
        document_world_size: Of the document; larger where ``--ranks-per-host`` reduced it.
        hosts: Containers.
        mode: What the document's ``--proof`` asks for.
        nonce: What the containers are given, "" for none.
    """

    world_size: int
    document_world_size: int
    hosts: int
    mode: str = EXCHANGE
    nonce: str = field(default="", repr=False)

    @property
    def to_prove(self) -> proof.Expected:
        """The same for the verdict."""
        return proof.Expected(self.world_size, self.hosts, self.mode, self.nonce)

"""What the containers of a rehearsal must prove."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core import proof


@dataclass(frozen=True)
class Expected(proof.Expected):
    """What the containers must prove; ``hosts`` is their number.

    Attributes:
        document_world_size: Of the document; larger where ``--ranks-per-host`` reduced it.
    """

    document_world_size: int = 0

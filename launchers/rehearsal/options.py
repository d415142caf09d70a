"""What a user may ask of a rehearsal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RehearsalOptions:
    """What a user may ask of a rehearsal; nothing of it is ever written into the document.

    Attributes:
        image: Runs instead of the document's.
        ranks_per_host: Instead of the document's.
        local_channels: ``NAME=DIR`` words.
        source: A folder or tar, for a document that comes without its code.
        world_size: What is expected where the document does not say.
        with_credentials: This machine's credentials for the provider reach the containers.
        interrupt_after: Seconds after the proof line at which spot capacity is taken back.
        despite_problems: What image and script lack is told and stops nothing.
        memory: Bytes of each container; None for an equal part of the machine.
    """

    image: str | None = None
    ranks_per_host: int | None = None
    local_channels: tuple[str, ...] = ()
    source: str | None = None
    world_size: int | None = None
    with_credentials: bool = False
    interrupt_after: int | None = None
    despite_problems: bool = False
    memory: int | None = None

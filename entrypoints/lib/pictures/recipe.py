"""What one original picture becomes when it is converted: itself, resized or not, and copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from . import augmenting, decoding, encoding, resizing
from .headers import Header


@dataclass(frozen=True)
class Recipe:
    """What is stored for every original.

    Attributes:
        size: (width, height) in pixels, or None: as the original is.
        fit: How the original comes to ``size``: "crop", "pad" or "stretch".
        format: "keep" (JPEG stays JPEG, all else becomes PNG), "jpeg" or "png".
        quality: Of JPEG, 1 to 100.
        augment: Of augmenting.KINDS, what is done to a copy.
        copies: Augmented copies of every original, beside the original itself.
        seed: Of what is drawn for the copies.
    """

    size: tuple[int, int] | None = None
    fit: str = "crop"
    format: str = "keep"
    quality: int = 90
    augment: tuple[str, ...] = ()
    copies: int = 0
    seed: int = 0

    @property
    def keeps_bytes(self) -> bool:
        """Whether the original is stored as it is, byte by byte."""
        return self.size is None and self.format == "keep"

    def pictures(self, content: bytes, name: str, header: Header) -> list[tuple[str, bytes]]:
        """The (name, encoded picture) pairs that ``content`` becomes: the original, then copies.

        Copy N is named ``name#N``. The same recipe, name and content give the same bytes.

        Raises:
            BadPictureError: It can't be decoded.
        """
        if self.keeps_bytes and not self.copies:
            return [(name, content)]
        image = decoding.decoded(content, header, self.size, self.fit)
        original = content if self.keeps_bytes else self._encoded(self._resized(image), header)
        made = [(name, original)]
        for number in range(1, self.copies + 1):
            copy = augmenting.augmented(
                image, self.augment, augmenting.draws(self.seed, name, number), self.size, self.fit
            )
            made.append((f"{name}#{number}", self._encoded(copy, header)))
        return made

    def _resized(self, image: Any) -> Any:
        return image if self.size is None else resizing.resized(image, self.size, self.fit)

    def _encoded(self, image: Any, header: Header) -> bytes:
        kept = "jpeg" if header.format == "JPEG" else "png"
        return encoding.encoded(image, kept if self.format == "keep" else self.format, self.quality)

    def as_mapping(self) -> Mapping[str, Any]:
        """For plan and manifest: JSON values."""
        return {
            "size": None if self.size is None else list(self.size),
            "fit": self.fit,
            "format": self.format,
            "quality": self.quality,
            "augment": list(self.augment),
            "copies": self.copies,
        }

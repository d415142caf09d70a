"""A JPEG decoded and resized by torchvision and PyTorch, where a process has loaded PyTorch.

For a JPEG of 256 x 256 as 224 x 224 Pillow 13 takes 2.4 times as long as torch 2.11, and holds
Python's lock for a fifth of it, so that its threads keep four or five cores busy however many there
are. Levels differ from Pillow's by 1 of 255 at most where a picture is stretched.
"""

from __future__ import annotations

import functools
import io
import sys
from typing import Any, Callable

from ..arrays import Array
from . import headers, resizing

# Orientation of EXIF -> what turns (channels, height, width) upright: quarters to the left, then
# whether left and right are exchanged.
_TURNS = {2: (0, True), 3: (2, False), 4: (2, True), 5: (3, True)}
_TURNS.update({6: (3, False), 7: (1, True), 8: (1, False)})
_PADDING = 0


class TorchDecoder:
    """torchvision's decoder and PyTorch's resizing.

    Args:
        torch: The module.
        decode: ``torchvision.io.decode_jpeg``, to RGB.
        of_bytes: Whether this PyTorch resizes bytes (since 2.1); else it computes in float32.
    """

    def __init__(self, torch: Any, decode: Callable[[Any], Any], of_bytes: bool):
        self._torch, self._decode, self._of_bytes = torch, decode, of_bytes

    def pixels(self, content: bytes, size: tuple[int, int], fit: str) -> Array | None:
        """(3, height, width) uint8, upright; None: for Pillow, which also says what is wrong.

        Args:
            content: The encoded picture.
            size: (width, height).
            fit: Of ``resizing.FITS``. A crop is cut along whole pixels of the original.

        Raises:
            BadPictureError: It begins as a picture and isn't whole, or is too large.
        """
        header = headers.header(content)
        if header is None or not header.ends or header.format != "JPEG":
            return None
        if header.components not in (1, 3):  # of print: four colours, in two ways
            return None
        encoded = self._torch.frombuffer(bytearray(content), dtype=self._torch.uint8)
        try:
            decoded = self._decode(encoded)
        except RuntimeError:
            return None
        quarters, mirrored = _TURNS.get(header.turned, (0, False))
        if quarters:
            decoded = self._torch.rot90(decoded, quarters, (1, 2))
        if mirrored:
            decoded = decoded.flip(2)
        found: Array = self._fitted(decoded, size, fit).numpy()
        return found

    def _fitted(self, image: Any, size: tuple[int, int], fit: str) -> Any:
        original = (image.shape[2], image.shape[1])
        if fit == "crop":
            left, top, right, bottom = map(round, resizing.centre_box(original, size))
            image = image[:, top : max(bottom, top + 1), left : max(right, left + 1)]
        if fit != "pad":
            return self._resized(image, size)
        inside = resizing.least_size(original, size, fit)
        width, height = min(inside[0], size[0]), min(inside[1], size[1])
        left, top = (size[0] - width) // 2, (size[1] - height) // 2
        whole = self._torch.full((3, size[1], size[0]), _PADDING, dtype=self._torch.uint8)
        whole[:, top : top + height, left : left + width] = self._resized(image, (width, height))
        return whole

    def _resized(self, image: Any, size: tuple[int, int]) -> Any:
        if (image.shape[2], image.shape[1]) == size:
            return image
        source = image[None] if self._of_bytes else image[None].float()
        found = self._torch.nn.functional.interpolate(
            source, (size[1], size[0]), mode="bilinear", antialias=True
        )[0]
        return found if self._of_bytes else found.round_().clamp_(0, 255).to(self._torch.uint8)


def decoder() -> TorchDecoder | None:
    """The decoder; None where PyTorch isn't loaded, torchvision isn't there, or was built without
    its library for JPEG."""
    return _found() if "torch" in sys.modules else None


@functools.lru_cache(maxsize=None)
def _found() -> TorchDecoder | None:
    import torch
    from PIL import Image

    try:
        # A torchvision that doesn't fit this torch fails in any way.
        from torchvision.io import ImageReadMode, decode_jpeg
    except Exception:
        return None

    def decode(encoded: Any) -> Any:
        return decode_jpeg(encoded, ImageReadMode.RGB)

    sample = io.BytesIO()
    Image.new("RGB", (4, 4)).save(sample, "JPEG")
    for of_bytes in (True, False):
        found = TorchDecoder(torch, decode, of_bytes)
        try:
            if found.pixels(sample.getvalue(), (2, 2), "stretch") is not None:
                return found
        except Exception:  # this resizing, or reading from memory, is unknown to it
            continue
    return None

"""JPEG files decoded and resized by torchvision and PyTorch, where a process has loaded PyTorch.

For 256 x 256 as 224 x 224 Pillow 13 takes 2.4 times as long as torch 2.11, and holds Python's lock
for a fifth of it. Here several pictures are one call without it: what goes to and fro between
threads that want the lock would take most of the time of 16. Levels differ from Pillow's by 1 of
255 at most where a picture is stretched.
"""

from __future__ import annotations

import functools
import io
import sys
import warnings
from typing import Any, Callable, NamedTuple, Sequence

from ..arrays import Array
from . import headers, resizing

# Orientation of EXIF -> what turns (channels, height, width) upright: quarters to the left, then
# whether left and right are exchanged.
_TURNS = {2: (0, True), 3: (2, False), 4: (2, True), 5: (3, True)}
_TURNS.update({6: (3, False), 7: (1, True), 8: (1, False)})
_PADDING = 0


class _Task(NamedTuple):
    """A picture's part of a call, see ``torch_calls.decoded``."""

    content: bytes
    turn: tuple[int, bool]
    box: tuple[int, int, int, int]
    size: tuple[int, int]


class TorchDecoder:
    """torchvision's decoder and PyTorch's resizing.

    Args:
        torch: The module.
        call: ``torch_calls.decoded``.
        of_bytes: Whether this PyTorch resizes bytes (since 2.1); else it computes in float32.
    """

    def __init__(self, torch: Any, call: Callable[..., Any], of_bytes: bool):
        self._torch, self._call, self._of_bytes = torch, call, of_bytes

    def pixels(
        self, contents: Sequence[bytes], size: tuple[int, int], fit: str
    ) -> list[Array | None]:
        """(3, height, width) uint8 of each, upright; None: for Pillow, which also says what is
        wrong.

        Args:
            contents: The encoded pictures.
            size: (width, height).
            fit: Of ``resizing.FITS``. A crop is cut along whole pixels of the original.
        """
        tasks = [_task(content, size, fit) for content in contents]
        ours = [task for task in tasks if task is not None]
        found = iter(self._done(ours))
        return [None if task is None else _bordered(next(found), size) for task in tasks]

    def _done(self, tasks: Sequence[_Task]) -> list[Array | None]:
        if not tasks:
            return []
        try:
            return [tensor.numpy() for tensor in self._called(tasks)]
        except RuntimeError:  # one of them is broken
            if len(tasks) == 1:
                return [None]
            return [self._done([task])[0] for task in tasks]

    def _called(self, tasks: Sequence[_Task]) -> Any:
        kind = self._torch.uint8
        encoded = [self._torch.frombuffer(bytearray(one.content), dtype=kind) for one in tasks]
        turns, boxes = [one.turn for one in tasks], [one.box for one in tasks]
        return self._call(encoded, turns, boxes, [one.size for one in tasks], self._of_bytes)


def _task(content: bytes, size: tuple[int, int], fit: str) -> _Task | None:
    try:
        header = headers.header(content)
    except headers.BadPictureError:
        return None
    if header is None or not header.ends or header.format != "JPEG":
        return None
    if header.components not in (1, 3):  # of print: four colours, in two ways
        return None
    width, height = header.size[::-1] if header.turned in headers.SIDEWAYS else header.size
    box, inside = (0, 0, width, height), size
    if fit == "crop":
        left, top, right, bottom = map(round, resizing.centre_box((width, height), size))
        box = (left, top, max(right, left + 1), max(bottom, top + 1))
    if fit == "pad":
        least = resizing.least_size((width, height), size, fit)
        inside = (min(least[0], size[0]), min(least[1], size[1]))
    return _Task(content, _TURNS.get(header.turned, (0, False)), box, inside)


def _bordered(pixels: Array | None, size: tuple[int, int]) -> Array | None:
    if pixels is None or pixels.shape[1:] == size[::-1]:
        return pixels
    import numpy as np

    _, height, width = pixels.shape
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    whole = np.full((3, size[1], size[0]), _PADDING, np.uint8)
    whole[:, top : top + height, left : left + width] = pixels
    return whole


def decoder() -> TorchDecoder | None:
    """The decoder; None where PyTorch isn't loaded, torchvision isn't there, or was built without
    its library for JPEG. The first call loads torchvision, before there are threads."""
    return _found() if "torch" in sys.modules else None


@functools.lru_cache(maxsize=None)
def _found() -> TorchDecoder | None:
    import torch
    from PIL import Image

    try:
        # A torchvision that doesn't fit this torch fails in any way.
        from . import torch_calls
    except Exception:
        return None
    sample = io.BytesIO()
    Image.new("RGB", (4, 4)).save(sample, "JPEG")
    for call in (_compiled(torch, torch_calls.decoded), torch_calls.decoded):
        for of_bytes in (True, False):
            found = TorchDecoder(torch, call, of_bytes)
            try:
                if found.pixels([sample.getvalue()], (2, 2), "stretch")[0] is not None:
                    return found
            except Exception:  # this resizing, or reading from memory, is unknown to it
                continue
    return None


def _compiled(torch: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same in TorchScript, which newer PyTorch warns of and may not have."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled: Callable[..., Any] = torch.jit.script(function)
    except Exception:
        return function
    return compiled

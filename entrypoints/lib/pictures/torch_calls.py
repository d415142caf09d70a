"""What PyTorch and torchvision do with several JPEG files, for TorchScript: one call without
Python's lock. Imported where both are there."""

from __future__ import annotations

import torch
import torchvision  # noqa: F401 - brings its decoder


def decoded(
    encoded: list[torch.Tensor],
    turns: list[tuple[int, bool]],
    boxes: list[tuple[int, int, int, int]],
    sizes: list[tuple[int, int]],
    of_bytes: bool,
) -> list[torch.Tensor]:
    """Each picture's pixels, (3, height, width) uint8.

    Args:
        encoded: The files, uint8.
        turns: Quarters to the left, then whether left and right are exchanged.
        boxes: What is taken of the upright picture: left, top, right, bottom.
        sizes: (width, height) to which that is resized.
        of_bytes: Whether bytes are resized, or float32.
    """
    found: list[torch.Tensor] = []
    for number, content in enumerate(encoded):
        image = torch.ops.image.decode_jpeg(content, 3)  # ImageReadMode.RGB
        quarters, mirrored = turns[number]
        if quarters != 0:
            image = torch.rot90(image, quarters, [1, 2])
        if mirrored:
            image = image.flip([2])
        left, top, right, bottom = boxes[number]
        image = image[:, top:bottom, left:right]
        width, height = sizes[number]
        if image.size(2) != width or image.size(1) != height:
            source = image.unsqueeze(0)
            if not of_bytes:
                source = source.float()
            resized = torch.nn.functional.interpolate(
                source, [height, width], mode="bilinear", antialias=True
            )[0]
            if not of_bytes:
                resized = resized.round().clamp(0, 255).to(torch.uint8)
            image = resized
        found.append(image)
    return found

"""A picture at the size that is wanted: cropped, padded or stretched."""

from __future__ import annotations

from typing import Any

FITS = ("crop", "pad", "stretch")
_PADDING = 0  # black


def least_size(original: tuple[int, int], size: tuple[int, int], fit: str) -> tuple[int, int]:
    """(width, height) to which all of the original is scaled, before a crop or a border.

    Args:
        original: (width, height).
        size: The wanted (width, height).
        fit: Of FITS.
    """
    if fit == "stretch":
        return size
    scales = (size[0] / original[0], size[1] / original[1])
    scale = max(scales) if fit == "crop" else min(scales)
    return max(1, round(original[0] * scale)), max(1, round(original[1] * scale))


def resized(image: Any, size: tuple[int, int], fit: str) -> Any:
    """The Pillow image at ``size``, (width, height).

    "crop" fills it and cuts what is beyond from both sides alike, "pad" shows all with black
    borders, "stretch" changes the proportions. Filtered (bilinear over all pixels that count).
    """
    from PIL import Image

    filtered = Image.Resampling.BILINEAR
    if fit == "stretch":
        return image.resize(size, filtered)
    if fit == "crop":
        return image.resize(size, filtered, box=centre_box(image.size, size))
    inside = least_size(image.size, size, fit)
    inside = (min(inside[0], size[0]), min(inside[1], size[1]))
    bordered = Image.new(image.mode, size, _PADDING)
    corner = ((size[0] - inside[0]) // 2, (size[1] - inside[1]) // 2)
    bordered.paste(image.resize(inside, filtered), corner)
    return bordered


def centre_box(original: tuple[int, int], size: tuple[int, int]) -> tuple[float, ...]:
    """(left, top, right, bottom) of the largest area with ``size``'s proportions, in the middle."""
    scale = min(original[0] / size[0], original[1] / size[1])
    width, height = size[0] * scale, size[1] * scale
    left, top = (original[0] - width) / 2, (original[1] - height) / 2
    return (
        max(0.0, left),
        max(0.0, top),
        min(float(original[0]), left + width),
        min(float(original[1]), top + height),
    )

"""An image as JPEG or PNG."""

from __future__ import annotations

import io
from typing import Any

FORMATS = ("keep", "jpeg", "png")


def encoded(image: Any, kind: str, quality: int = 90) -> bytes:
    """The Pillow image, of mode "L" or "RGB", as "jpeg" of that quality (1 to 100) or "png".

    Nothing but the pixels: no EXIF, no colour profile. The same image gives the same bytes.
    """
    buffer = io.BytesIO()
    image.info = {}  # else Pillow writes the original's profile and comment
    if kind == "jpeg":
        image.save(buffer, "JPEG", quality=quality)
    else:
        image.save(buffer, "PNG")
    return buffer.getvalue()

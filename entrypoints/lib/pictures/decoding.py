"""An encoded picture's pixels, upright, with 8 bits a channel, as grey or RGB."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

from . import headers, resizing
from .headers import BadPictureError, Header

_PILLOW = r"PIL\."
_BLANK = (255, 255, 255)  # what shows through where a picture is transparent
# Decoded at a reduced size, a JPEG is still at least so many times as large as what is wanted: the
# last step is then a filtered one, and the difference can't be seen.
_GAP = 2.0


def looked_at(content: bytes, decode: bool = False) -> Header:
    """The header of a whole picture.

    What is checked: that header and size are a picture's, and that its end is there (the end marker
    of a JPEG, the last chunk of a PNG, the length of a BMP). Any other picture, or with ``decode``
    every one, is decoded.

    Raises:
        BadPictureError: It isn't one.
    """
    found = headers.header(content)
    if found is not None and found.ends and not decode:
        return found
    with _opened(content) as image:
        found = Header(str(image.format), image.size, found.turned if found else _turned(image))
        _load(image)
    return found


def decoded(
    content: bytes, header: Header, size: tuple[int, int] | None = None, fit: str = "crop"
) -> Any:
    """The pixels, as a Pillow image of mode "L" or "RGB", turned upright; an animation's first.

    Args:
        content: The encoded picture.
        header: What ``looked_at`` gave for it.
        size: (width, height) to which it will be resized: a JPEG that is much larger is decoded at
            a half, a quarter or an eighth of its size. None: all its pixels.
        fit: How it will be resized.

    Raises:
        BadPictureError: It can't be decoded.
    """
    with _opened(content) as image:
        if size is not None and header.format == "JPEG":
            wide, high = resizing.least_size(upright_size(header), size, fit)
            if header.turned in headers.SIDEWAYS:
                wide, high = high, wide
            image.draft(None, (int(wide * _GAP) + 1, int(high * _GAP) + 1))
        _load(image)
        return _upright(_plain(image), header.turned)


def upright_size(header: Header) -> tuple[int, int]:
    """(width, height) of the picture as it is seen."""
    width, height = header.size
    return (height, width) if header.turned in headers.SIDEWAYS else (width, height)


def _opened(content: bytes) -> Any:
    from PIL import Image

    _quiet()
    try:
        image = Image.open(io.BytesIO(content))
    except Exception as error:
        raise BadPictureError(_reason(error)) from error
    headers.refuse_size(image.size)
    return image


def _quiet() -> None:
    """Pillow warns of odd pictures, which are checked here. For good: ``catch_warnings`` is of the
    whole process, and threads that leave it in another order than they came silence every warning.
    """
    if ("ignore", None, Warning, re.compile(_PILLOW), 0) not in warnings.filters:
        warnings.filterwarnings("ignore", module=_PILLOW)


def _load(image: Any) -> None:
    try:
        image.load()
    except MemoryError:
        raise
    except Exception as error:  # a decoder meets anything in a broken file
        raise BadPictureError(_reason(error)) from error


def _reason(error: Exception) -> str:
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "no picture that Pillow knows"
    if isinstance(error, Image.DecompressionBombError):
        return f"more than {headers.MOST_PIXELS:,} pixels"
    return f"cannot be decoded: {' '.join(str(error).split()) or type(error).__name__}"


def _turned(image: Any) -> int:
    try:
        value = image.getexif().get(0x0112, 1)
    except Exception:  # an EXIF block that is broken turns nothing
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _plain(image: Any) -> Any:
    """The image with 8 bits a channel, in "L" or "RGB", transparency filled."""
    from PIL import Image

    if image.mode in ("L", "RGB"):
        if "transparency" not in image.info:
            return image
        image = image.convert("RGBA")
    if image.mode.startswith(("I", "F")):
        return _eight_bits(image)
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Image.new("RGB", image.size, _BLANK)
        ground.paste(image, mask=image.getchannel("A"))
        return ground
    return image.convert("L" if image.mode == "1" else "RGB")


def _eight_bits(image: Any) -> Any:
    """16 bits of grey as their upper 8: Pillow's own conversion cuts what is above 255 off."""
    import numpy as np
    from PIL import Image

    values = np.asarray(image, dtype=np.float64)
    return Image.fromarray((np.clip(values, 0, 65535) // 256).astype(np.uint8))


def _upright(image: Any, turned: int) -> Any:
    from PIL import Image

    ways = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}  # Pillow's numbers of Transpose
    return image.transpose(Image.Transpose(ways[turned])) if turned in ways else image

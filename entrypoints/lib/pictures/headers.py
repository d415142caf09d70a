"""What the first and last bytes of a picture say: its format, its size, whether its end is there.

Nothing is decoded: a few microseconds a picture.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

# As Pillow: twice the size at which it warns, 0.5 GB of RGB. More is taken for an attack on memory.
MOST_PIXELS = 178_956_970
MOST_BYTES = 1 << 30  # a column of a row group holds less than twice that
SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff"),
    *(".ppm", ".pgm", ".pbm", ".pnm"),
)

# (name, where, bytes) of formats that Pillow reads, and TensorFlow's decode_image mostly doesn't.
_OTHERS = (
    ("WEBP", 8, b"WEBP"),
    *(("TIFF", 0, mark) for mark in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")),
    *(("PPM", 0, b"P%d%c" % (kind, space)) for kind in range(1, 7) for space in b" \n\r\t"),
    ("JPEG2000", 0, b"\0\0\0\x0cjP  "),
    ("AVIF", 4, b"ftypavif"),
)
# TensorFlow's graph looks for EXIF data and transparent colours in so many bytes.
BEGIN = 1024
_TURNED = 0x0112  # the EXIF tag Orientation; 1 is upright
SIDEWAYS = (5, 6, 7, 8)  # orientations whose width is the stored height
_MARKER_ALONE = {0x01, *range(0xD0, 0xD8)}
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # SOF0 to SOF15, without DHT, JPG and DAC


class BadPictureError(ValueError):
    """Content that is no whole picture: what was found, for people."""


@dataclass(frozen=True)
class Header:
    """What a picture says about itself.

    Attributes:
        format: As Pillow names it: "JPEG", "PNG", ...
        size: (width, height) in pixels as stored, before an EXIF rotation.
        turned: The EXIF orientation, 1 to 8; 1 is upright.
        ends: Its end is where it must be; else only decoding can say whether it is whole.
        components: Of a JPEG: 1 grey, 3 colours, 4 colours of print.
    """

    format: str
    size: tuple[int, int]
    turned: int = 1
    ends: bool = False
    components: int = 0


def header(content: bytes) -> Header | None:
    """The header of a JPEG, PNG, GIF or BMP; None: another format, or none at all.

    Raises:
        BadPictureError: It begins as a picture and isn't whole, has no size, or one beyond
            MOST_PIXELS.
    """
    if not content:
        raise BadPictureError("an empty file")
    if len(content) > MOST_BYTES:
        raise BadPictureError(f"{len(content):,} bytes, more than {MOST_BYTES:,}")
    try:
        found = _header(content)
    except (struct.error, IndexError):
        raise BadPictureError("ends within its header") from None
    if found is not None:
        refuse_size(found.size)
    return found


def format_for_pillow(content: bytes) -> str | None:
    """The format of a picture that Pillow reads and TensorFlow doesn't, by its first bytes."""
    return next((name for name, at, mark in _OTHERS if content.startswith(mark, at)), None)


def orientation(content: bytes) -> int:
    """The EXIF orientation, 1 to 8; 1 for all that is no JPEG or PNG, or none that is whole so
    far."""
    found = _seen(content)
    return 1 if found is None else found.turned


def differs_as_stored(content: bytes) -> bool:
    """Whether a picture is seen otherwise than its pixels are stored: one that its EXIF data turn,
    a PNG with a palette or an alpha channel, or a colour that shows none, of which parts may be
    transparent."""
    begin = content[:BEGIN]
    if begin.startswith(b"\x89PNG") and (
        begin[25:26] in (b"\x03", b"\x04", b"\x06") or b"tRNS" in begin
    ):
        return True
    return orientation(content) != 1


def too_large(content: bytes) -> str | None:
    """Why a picture is not to be decoded for its size, for people; None where it may be tried."""
    found = _seen(content)
    if found is not None and found.size[0] * found.size[1] > MOST_PIXELS:
        return _too_large(found.size)
    return None


def refuse_size(size: tuple[int, int]) -> None:
    """Raises BadPictureError where a picture of that size isn't to be decoded."""
    width, height = size
    if width < 1 or height < 1:
        raise BadPictureError(f"a picture of {width}x{height} pixels")
    if width * height > MOST_PIXELS:
        raise BadPictureError(_too_large(size))


def _too_large(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]} pixels, more than {MOST_PIXELS:,}"


def _seen(content: bytes) -> Header | None:
    """What a picture begins with, whether it is whole or not."""
    try:
        return _header(content)
    except (BadPictureError, struct.error, IndexError):
        return None


def _header(content: bytes) -> Header | None:
    if content.startswith(b"\xff\xd8\xff"):
        return _jpeg(content)
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        width, height = struct.unpack_from(">II", content, 16)
        return Header("PNG", (width, height), _turned_png(content), b"IEND" in content[-16:])
    if content.startswith((b"GIF87a", b"GIF89a")):
        return Header("GIF", struct.unpack_from("<HH", content, 6))
    if content.startswith(b"BM") and content[14:18] == b"\x28\x00\x00\x00":
        length, width, height = struct.unpack_from("<2xI12xii", content)
        return Header("BMP", (width, abs(height)), ends=0 < length <= len(content))
    return None


def _turned_png(content: bytes) -> int:
    """Of its chunks before the pixels, with EXIF data or not (PNG 1.5.0 extensions, eXIf)."""
    at = 8
    while at + 8 <= len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        if kind == b"eXIf":
            return _orientation(content[at + 8 : at + 8 + length])
        if kind in (b"IDAT", b"IEND"):
            break
        at += 12 + length
    return 1


def _jpeg(content: bytes) -> Header:
    """Walks the segments up to the frame's, which has the size."""
    at, turned = 2, 1
    while True:
        if content[at] != 0xFF:
            raise BadPictureError("a JPEG whose segments are broken")
        marker = content[at + 1]
        if marker == 0xFF:  # filling
            at += 1
            continue
        if marker in _MARKER_ALONE:
            at += 2
            continue
        (length,) = struct.unpack_from(">H", content, at + 2)
        if marker in _FRAMES:
            height, width, components = struct.unpack_from(">HHB", content, at + 5)
            break
        if marker in (0xD9, 0xDA):
            raise BadPictureError("a JPEG without a frame")
        if marker == 0xE1 and content[at + 4 : at + 10] == b"Exif\x00\x00":
            turned = _orientation(content[at + 10 : at + 2 + length])
        at += 2 + length
    # Some cameras put more behind the end: then only decoding can say.
    ends = content.endswith(b"\xff\xd9") or content.rstrip(b"\x00").endswith(b"\xff\xd9")
    return Header("JPEG", (width, height), turned, ends, components)


def _orientation(exif: bytes) -> int:
    """The orientation in a TIFF structure; 1 where it says none."""
    try:
        order = {b"II": "<", b"MM": ">"}[exif[:2]]
        (at,) = struct.unpack_from(order + "I", exif, 4)
        (entries,) = struct.unpack_from(order + "H", exif, at)
        for entry in range(entries):
            tag, kind, _, value = struct.unpack_from(order + "HHIH", exif, at + 2 + 12 * entry)
            if tag == _TURNED and kind == 3 and 1 <= value <= 8:
                return int(value)
    except (KeyError, struct.error):
        pass
    return 1

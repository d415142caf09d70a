from __future__ import annotations

import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from entrypoints.lib.pictures import decoding, headers
from entrypoints.lib.pictures.headers import BadPictureError
from tests.entrypoints.lib.pictures import samples


def pixels(content: bytes) -> Image.Image:
    picture = decoding.decoded(content, decoding.looked_at(content))
    assert isinstance(picture, Image.Image)
    return picture


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM"])
def test_a_whole_picture_is_known_with_its_format_and_size(kind: str) -> None:
    header = decoding.looked_at(samples.encoded(samples.image(40, 30), kind))
    assert (header.format, header.size, header.turned) == (kind, (40, 30), 1)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP"])
def test_the_end_of_a_common_format_is_seen_without_decoding(kind: str) -> None:
    found = headers.header(samples.encoded(samples.image(), kind))
    assert found is not None
    assert found.ends


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_a_picture_that_is_cut_short_is_bad(kind: str, share: float) -> None:
    content = samples.encoded(samples.image(200, 200), kind)
    with pytest.raises(BadPictureError):
        decoding.decoded(content[: int(len(content) * share)], decoding.looked_at(content))
    if kind != "GIF":  # Pillow takes what there is of a GIF
        with pytest.raises(BadPictureError):
            decoding.looked_at(content[: int(len(content) * share)])


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a"]
)
def test_what_is_no_picture_is_bad(content: bytes) -> None:
    with pytest.raises(BadPictureError):
        decoding.looked_at(content)


def test_a_jpeg_with_something_behind_its_end_is_whole() -> None:
    assert decoding.looked_at(samples.jpeg() + b"from the camera").format == "JPEG"


def test_a_broken_middle_is_seen_by_decoding_alone() -> None:
    content = bytearray(samples.encoded(samples.image(100, 100), "PNG"))
    content[len(content) // 2] ^= 0xFF
    assert decoding.looked_at(bytes(content)).ends
    with pytest.raises(BadPictureError):
        decoding.looked_at(bytes(content), decode=True)


def png_of(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    shape = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", shape) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(50_000, 50_000), (2**31 - 1, 2**31 - 1), (0, 10)])
def test_a_size_that_would_fill_the_memory_is_refused_before_anything_is_decoded(
    size: tuple[int, int],
) -> None:
    with pytest.raises(BadPictureError, match="pixels"):
        decoding.looked_at(png_of(*size))


def test_a_size_hidden_in_another_format_is_refused_too() -> None:
    with pytest.raises(BadPictureError, match="pixels"):
        decoding.looked_at(b"P5 50000 50000 255\n" + bytes(100))


def test_sixteen_bits_of_grey_keep_their_steps() -> None:
    picture = Image.new("I;16", (2, 1))
    picture.putpixel((0, 0), 256 * 40)
    picture.putpixel((1, 0), 65535)
    shown = pixels(samples.encoded(picture, "PNG"))
    assert (shown.mode, list(shown.tobytes())) == ("L", [40, 255])


def test_cmyk_becomes_rgb() -> None:
    shown = pixels(samples.encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG"))
    assert shown.mode == "RGB"
    red, green, blue = shown.tobytes()[:3]
    assert (red > 200, green < 80, blue < 80) == (True, True, True)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode: str) -> None:
    if mode == "P":
        picture = Image.new("P", (4, 4), 0)
        picture.putpalette([10, 20, 30] + [0] * 765)
        content = samples.encoded(picture, "PNG", transparency=0)
    else:
        content = samples.encoded(Image.new(mode, (4, 4), 0), "PNG")
    shown = pixels(content)
    assert (shown.mode, shown.getpixel((0, 0))) == ("RGB", (255, 255, 255))


def test_palettes_and_bits_become_colours_and_grey() -> None:
    assert pixels(samples.encoded(samples.image(mode="P"), "GIF")).mode == "RGB"
    assert pixels(samples.encoded(samples.image(mode="1"), "PNG")).mode == "L"


def test_an_animation_gives_its_first_picture() -> None:
    frames = [Image.new("RGB", (6, 6), color) for color in ("red", "green", "blue")]
    content = samples.encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert pixels(content).getpixel((2, 2)) == (255, 0, 0)


# Where the red corner is once the picture is upright, and whether it stands.
@pytest.mark.parametrize(
    ("orientation", "corner", "stands"),
    [
        (1, (0, 0), False),
        (2, (1, 0), False),
        (3, (1, 1), False),
        (4, (0, 1), False),
        (5, (0, 0), True),
        (6, (1, 0), True),
        (7, (1, 1), True),
        (8, (0, 1), True),
    ],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_turned_picture_is_set_upright(
    orientation: int, corner: tuple[int, int], stands: bool, kind: str
) -> None:
    content = samples.turned(64, 32, orientation, kind)
    assert decoding.looked_at(content).turned == orientation
    shown = pixels(content)
    assert shown.size == ((32, 64) if stands else (64, 32))
    at = (corner[0] * (shown.width - 1), corner[1] * (shown.height - 1))
    red, _, blue = shown.crop((*at, at[0] + 1, at[1] + 1)).tobytes()
    assert red > 200 > blue


def test_a_large_jpeg_is_decoded_smaller_and_never_below_twice_what_is_wanted() -> None:
    content = samples.jpeg(1600, 1200)
    header = decoding.looked_at(content)
    assert decoding.decoded(content, header, (100, 100), "crop").size == (400, 300)
    assert decoding.decoded(content, header, (700, 700), "crop").size == (1600, 1200)


def broken_exif() -> bytes:
    """Pillow warns of it."""
    exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x10\0\0\0\xff\xff\0\0"
    whole = samples.jpeg()
    return whole[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + whole[2:]


def test_threads_that_decode_leave_the_warnings_of_the_process_as_they_were() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert pixels(broken_exif()).size == (40, 30)
        before = list(warnings.filters)
        contents = [samples.jpeg(seed=seed) for seed in range(8)] * 40
        with ThreadPoolExecutor(8) as pool:
            assert len(list(pool.map(pixels, contents))) == 320
        assert list(warnings.filters) == before
        warnings.warn("of the script", stacklevel=1)
    assert [str(one.message) for one in told] == ["of the script"]

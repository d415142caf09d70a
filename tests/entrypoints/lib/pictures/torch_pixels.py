"""What torchvision's decoder and Pillow's give for the same pictures, as JSON. No test itself.

Run by an interpreter that has PyTorch, torchvision, NumPy and Pillow.
"""

from __future__ import annotations

import io
import json
import random
import sys
from typing import Any
from unittest import mock

import lib.pictures
import numpy as np
import torch  # noqa: F401 - where it is loaded, its decoder is taken
from lib.data.decoding_ahead import PictureForm
from lib.pictures import torch_decoding
from lib.pictures.headers import BadPictureError
from PIL import Image


def image(width: int, height: int) -> Image.Image:
    draw = random.Random(f"{width} {height}")
    small = Image.new("RGB", (4, 4))
    small.putdata([tuple(draw.randrange(256) for _ in range(3)) for _ in range(16)])
    return small.resize((width, height), Image.Resampling.BICUBIC)


def encoded(picture: Image.Image, kind: str = "JPEG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(image(60, 40), exif=exif, quality=95)


def filled(content: bytes, form: PictureForm) -> np.ndarray:
    place = np.empty((form.channels, *form.size), form.dtype)
    (pixels,) = form.by_torch([content])
    form.put(place, form.by_pillow(content, 3, 1, 13) if pixels is None else pixels)
    return place


def by_pillow(content: bytes, form: PictureForm) -> np.ndarray:
    with mock.patch.object(torch_decoding, "decoder", return_value=None):
        return filled(content, form)


def compared(content: bytes, form: PictureForm) -> tuple[bool, float, float]:
    """Whether torchvision decoded it; the most and the mean that levels of 255 differ."""
    with mock.patch.object(PictureForm, "image", side_effect=AssertionError("Pillow")):
        try:
            ours = filled(content, form)
        except AssertionError:
            ours = None
    if ours is None:
        same = np.array_equal(filled(content, form), by_pillow(content, form))
        return False, 0.0 if same else 1.0, 0.0
    levels = 255 * (form.deviation[0] if form.deviation else 1) if form.dtype == "float32" else 1
    differences = np.abs(ours.astype(float) - by_pillow(content, form).astype(float)) * levels
    return True, round(float(differences.max()), 3), float(differences.mean())


def broken() -> str:
    content = bytearray(encoded(image(200, 200)))
    at = content.index(b"\xff\xc4")  # the first table of Huffman codes
    content[at + 5 : at + 21] = b"\xff" * 16
    try:
        filled(bytes(content), PictureForm(size=(24, 24)))
    except BadPictureError as error:
        return str(error)
    return "decoded"


def together() -> list[bool]:
    """Which of several files torchvision decodes in one call, a broken one among them."""
    damaged = bytearray(SQUARE)
    at = damaged.index(b"\xff\xc4")
    damaged[at + 5 : at + 21] = b"\xff" * 16
    files = [SQUARE, encoded(image(40, 30), "PNG"), bytes(damaged), WIDE, b""]
    form = PictureForm(size=SMALL, dtype="uint8")
    found = form.by_torch(files)
    for content, pixels in zip(files, found, strict=True):
        alone = form.by_torch([content])[0]
        assert np.array_equal(alone, pixels) if pixels is not None else alone is None
    return [pixels is not None for pixels in found]


def without() -> dict[str, bool]:
    """Whether nothing is found without each of what it needs."""
    torch_decoding._found.cache_clear()
    found = {}
    with mock.patch.dict(sys.modules):
        del sys.modules["torch"]
        found["torch"] = torch_decoding.decoder() is None
    with mock.patch.dict(sys.modules, {"torchvision": None}):
        del sys.modules["lib.pictures.torch_calls"], lib.pictures.torch_calls
        found["torchvision"] = torch_decoding.decoder() is None
    torch_decoding._found.cache_clear()
    refusing = mock.Mock(side_effect=RuntimeError("not compiled with libjpeg support"))
    with mock.patch("lib.pictures.torch_calls.decoded", refusing):
        found["libjpeg"] = torch_decoding.decoder() is None
    torch_decoding._found.cache_clear()
    with mock.patch("torch.jit.script", side_effect=RuntimeError("TorchScript is not there")):
        found["script"] = torch_decoding.decoder() is not None
    return found


SQUARE, WIDE = encoded(image(64, 64), quality=90), encoded(image(90, 61), quality=90)
SMALL = (24, 24)
SAME = {
    "stretched": (WIDE, PictureForm(size=(31, 24), dtype="uint8")),
    "larger": (WIDE, PictureForm(size=(100, 200), dtype="uint8")),
    "as it is": (SQUARE, PictureForm(size=(64, 64), dtype="uint8")),
    "grey": (encoded(image(50, 40).convert("L")), PictureForm(size=SMALL, dtype="uint8")),
    "float32": (WIDE, PictureForm(size=SMALL)),
    "normalised": (WIDE, PictureForm(size=SMALL, mean=(0.5,) * 3, deviation=(0.25,) * 3)),
    "padded": (WIDE, PictureForm(size=SMALL, fit="pad", dtype="uint8")),
    "a line": (encoded(image(200, 1)), PictureForm(size=SMALL, fit="pad", dtype="uint8")),
    "cropped": (encoded(image(90, 60)), PictureForm(size=SMALL, fit="crop", dtype="uint8")),
    "cropped between pixels": (WIDE, PictureForm(size=SMALL, fit="crop", dtype="uint8")),
}
for number in range(1, 9):
    SAME[f"turned {number}"] = (turned(number), PictureForm(size=(30, 20), dtype="uint8"))
LEFT = {
    "png": (encoded(image(40, 30), "PNG"), PictureForm(size=SMALL)),
    "four colours": (encoded(image(40, 30).convert("CMYK")), PictureForm(size=SMALL)),
    "no end": (SQUARE + b"from the camera", PictureForm(size=SMALL)),
    "augmented": (SQUARE, PictureForm(size=SMALL, augment=("flip", "crop"))),
    "transformed": (SQUARE, PictureForm(size=SMALL, transform=lambda one, draw: one)),
    "to scale": (SQUARE, PictureForm(size=SMALL, scaled_decoding=True)),
    "one channel": (SQUARE, PictureForm(size=SMALL, channels=1)),
}
print(
    json.dumps(
        {
            "same": {name: compared(*case) for name, case in SAME.items()},
            "left": {name: compared(*case)[:2] for name, case in LEFT.items()},
            "broken": broken(),
            "together": together(),
            "without": without(),
        }
    )
)

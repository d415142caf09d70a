"""The contact sheet: a random sample of a place's pictures, each with its class, as one PNG file.

Part of reading_program.py: Python 3.8's syntax, pyarrow and Pillow.
"""

from __future__ import annotations

import io
import os
import random
from typing import Any

SIDE, GAP, CAPTION, TITLE = 128, 8, 18, 30
COLUMNS = 8
_PAPER, _INK, _DIM, _FAULT = (255, 255, 255), (30, 30, 30), (110, 110, 110), (200, 60, 60)


def sheet(
    reading: Any,
    place: str,
    files: list[dict[str, Any]],
    classes: list[str],
    count: int,
    seed: int,
    title: str,
    output: str,
) -> dict[str, Any]:
    """Draw ``count`` rows of ``files`` (each with its name and its row groups' rows) on a sheet.

    Returns:
        ``{"shown", "bad", "width", "height"}``: pictures, those that cannot be decoded, pixels.
    """
    chosen = sample(files, count, seed)
    system, root = reading.opened(place)
    pictures = []
    for name, groups in chosen.items():
        file = reading.checked(system, f"{root}/{name}", name)
        for group, rows in groups.items():
            try:
                table = file.read_row_group(group, columns=["label", "content"])
            except (OSError, ValueError) as error:
                raise reading.RefusedError("data-files", name, reading.reason(error)) from error
            rows = [row for row in rows if row < table.num_rows]
            pictures += table.take(rows).to_pylist()
    pictures.sort(key=lambda one: one["label"])  # stable: the sample's order within a class
    return draw(reading, pictures, classes, title, output)


def sample(files: list[dict[str, Any]], count: int, seed: int) -> dict[str, dict[int, list[int]]]:
    """Random rows: file -> row group -> rows in it. The same for the same seed."""
    total = sum(sum(one["row_groups"]) for one in files)
    wanted = sorted(random.Random(seed).sample(range(total), min(count, total)))
    chosen: dict[str, dict[int, list[int]]] = {}
    first = 0
    at = 0
    for one in files:
        for group, rows in enumerate(one["row_groups"]):
            while at < len(wanted) and wanted[at] < first + rows:
                chosen.setdefault(one["name"], {}).setdefault(group, []).append(wanted[at] - first)
                at += 1
            first += rows
    return chosen


def draw(
    reading: Any, pictures: list[dict[str, Any]], classes: list[str], title: str, output: str
) -> dict[str, Any]:
    """The sheet as a PNG file at ``output``, written beside it first."""
    from PIL import Image, ImageDraw

    columns = min(COLUMNS, max(len(pictures), 1))
    lines = -(-len(pictures) // columns)
    width = max(GAP + columns * (SIDE + GAP), 3 * SIDE)
    height = TITLE + lines * (SIDE + CAPTION + GAP) + GAP
    page = Image.new("RGB", (width, height), _PAPER)
    pen = ImageDraw.Draw(page)
    write(pen, (GAP, GAP), title, _INK, width - 2 * GAP)
    bad = 0
    for number, one in enumerate(pictures):
        left = GAP + number % columns * (SIDE + GAP)
        top = TITLE + number // columns * (SIDE + CAPTION + GAP)
        picture = decoded(one["content"])
        if picture is None:
            bad += 1
            pen.rectangle((left, top, left + SIDE - 1, top + SIDE - 1), outline=_FAULT)
            write(pen, (left + 4, top + SIDE // 2 - 6), "not a picture", _FAULT, SIDE - 8)
        else:
            across, down = (SIDE - picture.width) // 2, (SIDE - picture.height) // 2
            page.paste(picture, (left + across, top + down))
        label = one["label"]
        named = classes[label] if 0 <= label < len(classes) else str(label)
        write(pen, (left, top + SIDE + 2), named, _DIM, SIDE, centred=True)
    save(reading, page, output)
    return {"shown": len(pictures), "bad": bad, "width": width, "height": height}


def decoded(content: bytes) -> Any:
    """The picture within SIDE x SIDE, small ones not enlarged beyond whole pixels; None where the
    bytes are none."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as found:
            found.draft("RGB", (SIDE, SIDE))
            picture = upright(found).convert("RGB")
    except Exception:  # Pillow's plugins raise what they like
        return None
    larger = SIDE // max(picture.size)
    if larger > 1:
        size = (picture.width * larger, picture.height * larger)
        return picture.resize(size, Image.Resampling.NEAREST)
    picture.thumbnail((SIDE, SIDE))
    return picture


def upright(found: Any) -> Any:
    """The picture as its EXIF data turn it, which the loaders do, too."""
    from PIL import ImageOps

    if found.format == "PNG":  # in which they look for none
        return found
    try:
        return ImageOps.exif_transpose(found)
    except Exception:  # a broken block turns nothing
        return found


def write(
    pen: Any, at: tuple[int, int], text: str, colour: Any, room: int, centred: bool = False
) -> None:
    """``text`` in one line, cut to ``room`` pixels; signs that the font lacks as it draws them."""
    from PIL import ImageFont

    try:
        font: Any = ImageFont.load_default(size=12)
    except TypeError:  # before Pillow 10.1
        font = ImageFont.load_default()
    text = " ".join(text.split())
    try:
        pen.textlength(text, font=font)
    except UnicodeError:  # the old font has Latin-1 alone
        text = text.encode("latin-1", "replace").decode("latin-1")
    cut = text
    while cut and pen.textlength(cut if cut == text else f"{cut}..", font=font) > room:
        cut = cut[:-1]
    cut = cut if cut == text else f"{cut}.."
    indent = (room - pen.textlength(cut, font=font)) / 2 if centred else 0
    pen.text((at[0] + indent, at[1]), cut, fill=colour, font=font)


def save(reading: Any, page: Any, output: str) -> None:
    """Whole, or not at all."""
    part = f"{output}.part"
    try:
        page.save(part, "PNG")
        os.replace(part, output)
    except OSError as error:
        if os.path.exists(part):
            os.unlink(part)
        raise reading.RefusedError("data-sheet", output, error.strerror or str(error)) from error

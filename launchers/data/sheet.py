"""A contact sheet of a split: sheet_program.py draws it in the Python that has Pillow."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core.model.problems import LaunchError
from launchers.data.catalogue import RULES
from launchers.data.place import Place, PlaceSplit
from launchers.data.reading import ask


@dataclass(frozen=True)
class Sheet:
    """What was drawn.

    Attributes:
        shown: Pictures on it.
        not_decoded: Of these, how many are no pictures.
    """

    shown: int
    not_decoded: int


def require_png(output: str) -> None:
    """Raises LaunchError where the file's name is no PNG picture's."""
    if not output.lower().endswith(".png"):
        raise LaunchError(RULES["data-sheet"].at("--output", output[:80]))


def draw_sheet(
    python: str, place: Place, split: PlaceSplit, count: int, seed: int, output: str
) -> Sheet:
    """Draw ``count`` random rows of a split, the same ones for the same seed, into the PNG file
    ``output``. Waits for it.

    Raises:
        LaunchError: The split has no row, a file cannot be read, or the sheet not written.
    """
    if split.rows == 0:
        found = f"{split.name}: no row" if split.name else "no row"
        raise LaunchError(RULES["data-split"].at(place.root, found, "a picture"))
    shown = min(count, split.rows)
    name = f", {split.name}" if split.name else ""
    drawn = ask(
        python,
        "sheet",
        place=place.root,
        files=[{"name": one.name, "row_groups": list(one.row_groups)} for one in split.files],
        classes=list(place.classes) if place.has_manifest else [],
        count=count,
        seed=seed,
        title=f"{place.root}{name}: {shown:,} of {split.rows:,} rows, seed {seed}",
        output=output,
    )
    return Sheet(drawn["shown"], drawn["bad"])

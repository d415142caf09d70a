"""What a place of pictures holds, on a screen: tables of splits, classes, and ranks to be fed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from launchers.cli.show.output import say, styled, tell
from launchers.cli.show.table import table
from launchers.core.planning.plan import counted
from launchers.data.feeding import Feeding
from launchers.data.place import Place, PlaceSplit
from launchers.docker.progress import size_text

# Of very many, such as ImageNet-21k's, the first ones stand in the table.
_MOST_CLASSES = 1000
ROWS = "-"  # the name of the one split of a folder without a manifest


def tell_place(place: Place, splits: Sequence[PlaceSplit]) -> None:
    """Splits and classes."""
    rows = sum(split.rows for split in splits)
    classes = counted(len(place.classes), "class")
    tell(f"{styled(place.root, 'bold')}: {rows:,} rows of {classes}")
    if place.made:
        tell(f"  made      {_made(place.made)}")
    if not place.has_manifest:
        tell("  no manifest: files, rows and labels are those of the Parquet files themselves")
    if place.bad:
        tell(
            f"  left out  {counted(len(place.bad), 'picture')}, the first {place.bad[0][0]}: "
            f"{place.bad[0][1]}"
        )
    tell("")
    _tell_splits(splits)
    tell("")
    _tell_classes(place, splits)


def tell_feeding(
    splits: Sequence[PlaceSplit], fed: Mapping[str, Sequence[Feeding]], batch_size: int
) -> None:
    """How the ranks are fed, a row for a split and a number of ranks."""
    tell("")
    tell(f"ranks in steps of {batch_size} rows, with the loader's --remainder drop:")
    columns = ("SPLIT", "RANKS", "ROWS A RANK", "STEPS", "LAST BATCH", "EVENLY")
    rows = [
        (
            split.name or ROWS,
            str(one.ranks),
            f"{one.rows:,}",
            f"{one.steps:,}",
            str(one.last_batch),
            _evenly(one),
        )
        for split in splits
        for one in fed[split.name]
    ]
    table(columns, rows, may_go=("LAST BATCH",))


def say_verified(files: int, size: int) -> None:
    """All hashes are the manifest's."""
    say(f"{counted(files, 'file')}, {bytes_text(size)}: every SHA-256 is the manifest's")


def bytes_text(size: float) -> str:
    """Bytes as ``431 KB``, ``85 MB`` or ``2.30 GB``."""
    return f"{size / 1e3:.0f} KB" if size < 1e6 else size_text(size)


def _evenly(one: Feeding) -> str:
    if one.starves:
        return "no: fewer rows than ranks"
    over = counted(one.left_over, "row")
    said = f"no: {over} over" if one.left_over else "yes"
    return f"{said}; {one.row_groups} row groups" if one.shares_groups else said


def _tell_splits(splits: Sequence[PlaceSplit]) -> None:
    columns = ("SPLIT", "ROWS", "FILES", "SIZE", "ROW GROUPS", "ROWS A GROUP")
    rows = []
    for split in splits:
        groups = split.row_groups
        least, most = min(groups, default=0), max(groups, default=0)
        spread = str(most) if least == most else f"{least} to {most}"
        rows.append(
            (
                split.name or ROWS,
                f"{split.rows:,}",
                str(len(split.files)),
                bytes_text(split.bytes),
                str(len(groups)),
                spread,
            )
        )
    table(columns, rows, may_go=("ROWS A GROUP",))


def _tell_classes(place: Place, splits: Sequence[PlaceSplit]) -> None:
    columns = ("CLASS", "LABEL", *((split.name or "rows").upper() for split in splits))
    each = zip(place.classes, place.labels, *(split.counts for split in splits), strict=True)
    rows = [
        (name, str(label), *(f"{count:,}" for count in counts))
        for name, label, *counts in islice(each, _MOST_CLASSES)
    ]
    table(columns, rows, may_go=("LABEL",))
    more = len(place.classes) - _MOST_CLASSES
    if more > 0:
        tell(f"... and {counted(more, 'more class')}; --json has all of them")


def _made(made: Mapping[str, Any]) -> str:
    """``from photos, seed 13, split 0.7 0.2 0.1``: what decides over the pictures."""
    told = {"from": made.get("source"), **{key: made.get(key) for key in ("seed", "split")}}
    told |= {key: made.get(key) for key in ("augment", "copies") if made.get("copies")}
    if made.get("size"):
        told |= {"size": "x".join(map(str, made["size"])), "fit": made.get("fit")}
    if made.get("format") != "keep":
        told |= {key: made.get(key) for key in ("format", "quality")}
    return ", ".join(f"{key} {_value(value)}" for key, value in told.items() if _says(value))


def _says(value: Any) -> bool:
    return value not in (None, "", [])


def _value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

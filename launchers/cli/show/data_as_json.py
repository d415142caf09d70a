"""Pictures as Parquet, as ``--json`` says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from launchers.cli.show.as_json import problem_as_json
from launchers.core.model.problems import Problem

if TYPE_CHECKING:
    from launchers.cli.answers.data import (
        ConvertedAnswer,
        DataFileAnswer,
        DataInfoAnswer,
        FedRanks,
    )
    from launchers.data.feeding import Feeding
    from launchers.data.place import Place, PlaceFile, PlaceSplit


def converted_as_json(event: Mapping[str, Any], bad: Sequence[tuple[str, str]]) -> ConvertedAnswer:
    """The converter's result, and the pictures that it left out."""
    return {
        "place": event["place"],
        "made": event["made"],
        "classes": list(event["classes"]),
        "splits": [
            {"name": name, "rows": one["rows"], "bytes": one["bytes"], "files": one["files"]}
            for name, one in event["splits"].items()
        ],
        "pictures": event["pictures"],
        "rows": event["rows"],
        "left_out": [{"path": path, "reason": reason} for path, reason in bad],
        "seconds": event["seconds"],
        "rate": event["rate"],
    }


def info_as_json(
    place: Place,
    splits: Sequence[PlaceSplit],
    fed: Mapping[str, Sequence[Feeding]],
    batch_size: int,
    verified: bool,
    warnings: Sequence[Problem],
) -> DataInfoAnswer:
    """A place, and how it feeds ranks."""
    return {
        "place": place.root,
        "manifest": place.has_manifest,
        "classes": list(place.classes),
        "splits": [
            {
                "name": split.name,
                "rows": split.rows,
                "counts": list(split.counts),
                "files": list(map(_file, split.files)),
                "fed": list(map(_fed, fed[split.name])),
            }
            for split in splits
        ],
        "batch_size": batch_size,
        "made": dict(place.made),
        "left_out": [{"path": path, "reason": reason} for path, reason in place.bad],
        "verified": verified,
        "problems": [problem_as_json(one) for one in warnings],
    }


def _file(one: PlaceFile) -> DataFileAnswer:
    return {
        "name": one.name,
        "rows": one.rows,
        "bytes": one.bytes,
        "sha256": one.sha256,
        "row_groups": list(one.row_groups),
    }


def _fed(one: Feeding) -> FedRanks:
    return {
        "ranks": one.ranks,
        "rows": one.rows,
        "steps": one.steps,
        "last_batch": one.last_batch,
        "left_over": one.left_over,
        "repeated": one.repeated,
    }

"""The plan of a conversion: its tasks, and the digest by which a second start knows it."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, Mapping

from . import folders, splitting
from .listing import Listing
from .options import Options
from .tasks import Picture, Task

# So that there is something to go on with after an interruption, and work for several cores.
LEAST_TASKS = 16


@dataclass(frozen=True)
class Plan:
    """All that decides over the files that a conversion makes.

    Attributes:
        tasks: In the order of their numbers.
        classes: Their names.
        made: The options that matter and a digest of the listing; the manifest says it.
    """

    tasks: tuple[Task, ...]
    classes: tuple[str, ...]
    made: Mapping[str, Any]

    def as_text(self, engine: str) -> str:
        """What ``_conversion/plan.json`` says; ``engine`` began it, and any other may go on."""
        about = {**self.made, "tasks": len(self.tasks), "engine": engine}
        return json.dumps(about, indent=1, sort_keys=True) + "\n"


def planned(options: Options, listing: Listing) -> Plan:
    """The plan for these options and pictures: the same on every machine and for every engine.

    ``options.source`` and ``options.place`` are absolute.
    """
    ordered = splitting.in_order(listing.pictures, options.seed)
    tasks = tuple(
        Task(
            number=number,
            source=options.source,
            place=options.place,
            pictures=tuple(pictures),
            classes=len(listing.classes),
            fractions=options.fractions,
            seed=options.seed,
            recipe=options.recipe,
            rows_per_group=options.rows_per_group,
            skip_bad=options.skip_bad,
            decode=options.decode,
        )
        for number, pictures in enumerate(_cut(ordered, options.file_size))
    )
    made = {
        **options.as_mapping(),
        "source": folders.shown(options.source),
        "pictures": _digest(listing),
    }
    return Plan(tasks, listing.classes, made)


def differences(made: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """In what ``other`` differs from what was begun as ``made``, for people.

    Where the pictures come from doesn't matter. What was begun with ``--bad-images fail`` has left
    out none, so that it is the same with "skip".
    """
    found: list[str] = []
    for key in sorted({*made, *other} - {"source", "tasks", "engine"}):
        if (key, made.get(key), other.get(key)) == ("bad_images", "fail", "skip"):
            continue
        if made.get(key) != other.get(key):
            option = f"--{key.replace('_', '-')}"
            found.append(
                "other pictures in IMAGES"
                if key == "pictures"
                else f"{option} {_said(other.get(key))}, there {_said(made.get(key))}"
            )
    return found


def _cut(pictures: list[Picture], file_size: int) -> list[list[Picture]]:
    """Consecutive pictures of about the same number of bytes a task."""
    total = sum(picture.bytes for picture in pictures)
    wanted = min(len(pictures), max(LEAST_TASKS, math.ceil(total / file_size)))
    tasks: list[list[Picture]] = []
    before, share = 0, max(1, total) / max(1, wanted)
    for picture in pictures:
        if not tasks or before >= len(tasks) * share:
            tasks.append([])
        tasks[-1].append(picture)
        before += picture.bytes
    return tasks


def _digest(listing: Listing) -> str:
    """Of the classes' and pictures' names and sizes."""
    digest = hashlib.sha256(json.dumps(listing.classes).encode())
    for picture in listing.pictures:
        line = f"{picture.path}\0{picture.bytes}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _said(value: Any) -> str:
    if value is None or value == []:
        return "none"
    return ",".join(str(one) for one in value) if isinstance(value, list) else str(value)


def as_json(text: str) -> dict[str, Any]:
    """What a plan's text says; {} where it is none."""
    try:
        about = json.loads(text)
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}

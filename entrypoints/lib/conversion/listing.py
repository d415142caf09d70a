"""The pictures of class folders: the first level names the class, what is below belongs to it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Iterator

from ..errors import TrainingError
from ..object_stores import said
from ..pictures import class_folders
from ..pictures.headers import SUFFIXES
from . import folders
from .tasks import Picture
from .writing import printable


@dataclass(frozen=True)
class Listing:
    """What lies below a source.

    Attributes:
        classes: The first-level folders' names, sorted; a label is a position in it.
        pictures: Sorted by path.
        ignored: Files that are no pictures by their names, and pictures outside class folders.
        folders: Of one class alone: the folders in it, in which one might have looked for classes.
    """

    classes: tuple[str, ...]
    pictures: tuple[Picture, ...]
    ignored: int
    folders: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Of all pictures."""
        return sum(picture.bytes for picture in self.pictures)

    def warnings(self) -> list[str]:
        """What a user may not have meant."""
        said = []
        used = {picture.label for picture in self.pictures}
        empty = [name for label, name in enumerate(self.classes) if label not in used]
        if empty:
            said.append(
                f"no picture in {_some(empty)}: they stay classes, so that labels are as elsewhere"
            )
        odd = [printable(name) for name in self.classes if printable(name) != name]
        if odd:
            said.append(f"no UTF-8 in the class names {_some(odd)}, as the manifest has them")
        if len(self.classes) == 1:
            deeper = f"; if {_some(self.folders)} in it are the classes, convert that folder"
            said.append(f"one class, {self.classes[0]}{deeper if self.folders else ''}")
        return said


def listed(source: str) -> Listing:
    """The pictures below an ``absolute`` source; reads names and sizes alone.

    ``class_folders.walk`` says which names and links of this machine's folders are followed. What
    is a picture is said by the name's suffix; its content is looked at later.

    Raises:
        TrainingError: It isn't there, can't be read or has no picture in a class folder.
    """
    place = folders.shown(source)
    try:
        if folders.is_remote(source):
            found = iter(folders.RemoteFolder(source).listed())
        else:
            found = class_folders.walk(source)
        listing = _sorted(found)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TrainingError(
            f"{place}: {said(error)}; expected a folder of class folders"
        ) from error
    except OSError as error:
        inside = error.filename if not folders.is_remote(source) else None
        named = folders.shown(str(inside)) if inside else place
        raise TrainingError(f"{named}: cannot be listed: {said(error)}") from error
    if not listing.pictures:
        raise TrainingError(
            f"{place}: no picture in a class folder ({len(listing.classes)} folders, "
            f"{listing.ignored} other files); expected {place}/CLASS/NAME.jpg"
        )
    _refuse_alike(listing.classes, place)
    return listing


def _refuse_alike(classes: tuple[str, ...], place: str) -> None:
    """Names whose bytes are no UTF-8 may be one and the same where they are written as text."""
    written: dict[str, str] = {}
    for name in classes:
        other = written.setdefault(printable(name), name)
        if other != name:
            raise TrainingError(
                f"{place}: two class folders whose names are no UTF-8 are both {printable(name)} "
                f"as text ({os.fsencode(other)!r}, {os.fsencode(name)!r}); expected names that "
                "differ as text; rename one"
            )


def _sorted(found: Iterator[tuple[str, int]]) -> Listing:
    classes, ignored = set(), 0
    pictures: list[tuple[str, int]] = []
    below: dict[str, None] = {}
    for path, size in found:
        parts = path.rstrip("/").split("/")
        if any(part.startswith(".") for part in parts):
            continue
        if path.endswith("/"):
            classes.add(parts[0])
            if len(parts) == 2:
                below[parts[1]] = None
        elif len(parts) > 1 and path.lower().endswith(SUFFIXES):
            classes.add(parts[0])
            pictures.append((path, size))
        else:
            ignored += 1
    names = tuple(sorted(classes))
    label = {name: position for position, name in enumerate(names)}
    return Listing(
        names,
        tuple(Picture(path, size, label[path.split("/", 1)[0]]) for path, size in sorted(pictures)),
        ignored,
        tuple(sorted(below)) if len(names) == 1 else (),
    )


def _some(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"

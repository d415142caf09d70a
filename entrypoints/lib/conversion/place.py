"""The place that a conversion writes: one conversion at a time, gone on with, finished."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import Iterator, Mapping, Sequence

from ..data import layout
from ..errors import TrainingError
from ..object_stores import said
from . import engines, folders, plan
from .tasks import Part, TaskRecord
from .work import RECORDS_FOLDER, failed_write
from .writing import printable

PLAN = f"{layout.UNFINISHED_FOLDER}/plan.json"
_NOT_OURS_ALLOWED = ("lost+found",)  # a file system's own


class ConversionPlace:
    """What lies at ``place``, an ``absolute`` one."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._shown = folders.shown(place)
        self._folder = folders.open_folder(place)
        self._began = False

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Keeps other conversions away; made where it isn't there.

        Gives False where the place can't be locked: an object store, a file system without locks.
        There a second conversion of the same plan writes the same bytes, and another is refused.

        Raises:
            TrainingError: Another conversion is at work here, or it can't be written.
        """
        if folders.is_remote(self.place):
            yield False
            return
        import fcntl

        try:
            self._folder.make()
            handle = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise failed_write(self.place, error) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked = True
            except BlockingIOError:
                raise TrainingError(
                    f"{self._shown}: another conversion is at work there; wait until it ends or "
                    "take another folder"
                ) from None
            except OSError:
                locked = False
            yield locked
        finally:
            os.close(handle)

    def finished(self, wanted: plan.Plan) -> layout.Manifest | None:
        """The manifest, where the same conversion was finished; None where none was.

        Raises:
            TrainingError: Another one was finished here, or the place holds something else.
        """
        try:
            text = self._folder.read(layout.MANIFEST).decode()
        except (FileNotFoundError, NotADirectoryError):
            self._refuse_foreign()
            return None
        except (OSError, ValueError) as error:
            raise TrainingError(
                f"{self._shown}/{layout.MANIFEST}: cannot be read: {said(error)}"
            ) from error
        try:
            manifest = layout.from_text(text)
        except layout.ManifestError as error:
            raise TrainingError(
                f"{self._shown}/{layout.MANIFEST}: {error}; take another folder, or remove this one"
            ) from error
        self._refuse_other(manifest.made, wanted, "was finished")
        self._folder.remove_folder(layout.UNFINISHED_FOLDER)
        return manifest

    def begin(self, wanted: plan.Plan, engine: str, alone: bool) -> dict[int, TaskRecord]:
        """Prepares the place for ``wanted``; the records of the tasks that are done, by number.

        Args:
            wanted: What is to be made.
            engine: Will carry it out.
            alone: What ``held`` gave. Then a conversion that has done nothing gives way.

        Raises:
            TrainingError: An unfinished conversion of another plan lies there, or a full disk.
        """
        try:
            self._folder.make(RECORDS_FOLDER)
            self.clear_unfinished()
            about = self._begun()
            if about is None or (alone and self._is_untouched(about)):
                content = wanted.as_text(engine).encode()
                self._folder.write_whole(PLAN, content, unfinished_in=layout.UNFINISHED_FOLDER)
                self._began = True
                return {}
        except OSError as error:
            raise failed_write(self.place, error) from error
        self._refuse_other(about, wanted, "was begun")
        return {record.number: record for record in self._records(len(wanted.tasks))}

    def take_back(self) -> None:
        """Undoes what ``begin`` began where no task was given out; never raises."""
        with suppress(OSError):
            if self._began and not self._folder.names(RECORDS_FOLDER):
                self._folder.remove_folder(layout.UNFINISHED_FOLDER)

    def finish(self, wanted: plan.Plan, records: Sequence[TaskRecord]) -> layout.Manifest:
        """Writes the manifest of all ``records``, then removes what was for going on.

        Raises:
            TrainingError: No picture was left, or a full disk.
        """
        manifest = _manifest(wanted, sorted(records, key=lambda record: record.number))
        if not manifest.splits:
            first = manifest.bad[0]
            self._folder.remove_folder(layout.UNFINISHED_FOLDER)
            raise TrainingError(
                f"{wanted.made['source']}: none of {len(manifest.bad)} pictures is whole; "
                f"the first, {first.path}: {first.reason}"
            )
        try:
            self._folder.write_whole(
                layout.MANIFEST,
                layout.as_text(manifest).encode(),
                unfinished_in=layout.UNFINISHED_FOLDER,
            )
        except OSError as error:
            raise failed_write(self.place, error) from error
        self._folder.remove_folder(layout.UNFINISHED_FOLDER)
        return manifest

    def clear_unfinished(self) -> None:
        """Removes what processes that are gone had begun to write."""
        for name in self._folder.names(layout.UNFINISHED_FOLDER):
            if name.startswith("unfinished-"):
                self._folder.remove(f"{layout.UNFINISHED_FOLDER}/{name}")

    def _begun(self) -> dict[str, object] | None:
        """What the plan of an earlier start says; None where there is none."""
        if self._folder.size(PLAN) is None:
            return None
        return plan.as_json(self._folder.read(PLAN).decode("utf-8", "replace"))

    def _is_untouched(self, begun: Mapping[str, object]) -> bool:
        """Whether no part of it is done, and nobody can still be at work on one."""
        written = (RECORDS_FOLDER, *layout.SPLITS)
        return begun.get("engine") == engines.BOUND and not any(map(self._folder.names, written))

    def _refuse_foreign(self) -> None:
        names = [name for name in self._folder.names() if not name.startswith(".")]
        foreign = [name for name in names if name not in _NOT_OURS_ALLOWED]
        if foreign and layout.UNFINISHED_FOLDER not in names:
            raise TrainingError(
                f"{self._shown}: has {foreign[0]} in it and no {layout.MANIFEST}; expected an "
                "empty or a new folder, or one with a conversion to go on with"
            )

    def _refuse_other(self, made: Mapping[str, object], wanted: plan.Plan, what: str) -> None:
        other = plan.differences(made, wanted.made)
        if other:
            raise TrainingError(
                f"{self._shown}: another conversion {what} there ({'; '.join(other)}); give the "
                "same options, take another folder, or remove this one"
            )

    def _records(self, tasks: int) -> Iterator[TaskRecord]:
        """The records whose files are there in full."""
        for name in self._folder.names(RECORDS_FOLDER):
            try:
                record = TaskRecord.from_text(
                    self._folder.read(f"{RECORDS_FOLDER}/{name}").decode()
                )
            except (OSError, ValueError, KeyError, TypeError):
                continue
            files = [part.file for part in record.parts.values()]
            if record.number < tasks and all(
                self._folder.size(file.name) == file.bytes for file in files
            ):
                yield record


def _manifest(wanted: plan.Plan, records: Sequence[TaskRecord]) -> layout.Manifest:
    splits = {}
    for split in layout.SPLITS:
        parts: list[Part] = [record.parts[split] for record in records if split in record.parts]
        if parts:
            counts = [0] * len(wanted.classes)
            for part in parts:
                for label, rows in part.counts.items():
                    counts[label] += rows
            splits[split] = layout.Split(
                rows=sum(counts),
                bytes=sum(part.bytes for part in parts),
                counts=tuple(counts),
                files=tuple(part.file for part in parts),
            )
    bad = sorted((one for record in records for one in record.bad), key=lambda one: one.path)
    classes = tuple(map(printable, wanted.classes))
    return layout.Manifest(classes, splits, wanted.made, tuple(bad))

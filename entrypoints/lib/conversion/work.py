"""Carrying out one task: pictures are read, made by the recipe, and written as Parquet."""

from __future__ import annotations

import errno
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Callable, Iterator

from ..data.layout import UNFINISHED_FOLDER, BadPicture
from ..errors import TrainingError
from ..object_stores import said
from ..pictures import decoding
from ..pictures.headers import BadPictureError
from . import folders, splitting
from .tasks import Picture, Task, TaskRecord
from .writing import PartWriter, file_name, printable

RECORDS_FOLDER = f"{UNFINISHED_FOLDER}/tasks"
# An object store answers each request slowly and many at once.
_REMOTE_READERS = 16

Read = Callable[[str], bytes]
# What a file of one's own can be: all else is the storage's fault, and no reason to leave it out.
_OF_THE_FILE = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


def perform(task: Task, read: Read | None = None) -> TaskRecord:
    """Carries ``task`` out: writes its files and then its record into the place; may be repeated.

    Args:
        task: What is to be done.
        read: Gives the bytes of the picture of that path (as in ``Picture.path``) where an engine
            has them already; raises OSError. By default they are read from the task's source.

    Raises:
        TrainingError: One line: a bad picture where none is skipped, storage that fails, a full
            disk. None of the task's files that aren't whole is left.
    """
    writers = _Writers(task)
    try:
        bad: list[BadPicture] = []
        formats: dict[str, int] = {}
        turned = 0
        for picture, content in _contents(task, read):
            try:
                if isinstance(content, OSError):
                    raise BadPictureError(_unreadable(content))
                header = decoding.looked_at(content, task.decode)
                made = task.recipe.pictures(content, picture.path, header)
            except BadPictureError as error:
                if not task.skip_bad:
                    raise TrainingError(
                        f"{_where(task, picture)}: {error}; mend it and run the same command to "
                        "resume, or add --bad-images skip, which leaves it out"
                    ) from error
                bad.append(BadPicture(printable(picture.path), str(error)))
                continue
            formats[header.format] = formats.get(header.format, 0) + 1
            turned += task.recipe.keeps_bytes and header.turned != 1
            writers.add(splitting.split_of(content, task.fractions, task.seed), picture, made)
        return writers.finish(tuple(bad), formats, turned)
    finally:
        writers.discard()


def reader(source: str) -> Callable[[str], bytes]:
    """Gives the bytes of a picture of that path below ``source``; raises OSError."""
    return folders.open_folder(source).read


class _Writers:
    """The files of a task, one a split, opened when the first picture comes."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._folder = folders.open_folder(task.place)
        self._open: dict[str, PartWriter] = {}

    def add(self, split: str, picture: Picture, made: list[tuple[str, bytes]]) -> None:
        if split not in self._open:
            name = file_name(split, self._task.number)
            self._open[split] = PartWriter(self._folder, name, self._task.rows_per_group)
        try:
            for path, content in made:
                self._open[split].add(picture.label, content, path)
        except OSError as error:
            raise failed_write(self._task.place, error) from error

    def finish(
        self, bad: tuple[BadPicture, ...], formats: dict[str, int], turned: int
    ) -> TaskRecord:
        """All files get their names, then the record says so."""
        try:
            parts = {}
            for split in sorted(self._open):
                self._folder.make(split)
                parts[split] = self._open[split].finish()
            self._open = {}
            record = TaskRecord(self._task.number, parts, bad, formats, turned)
            write_record(self._folder, record)
        except OSError as error:
            raise failed_write(self._task.place, error) from error
        return record

    def discard(self) -> None:
        for writer in self._open.values():
            writer.discard()


def record_name(number: int) -> str:
    """The name of a task's record below the place."""
    return f"{RECORDS_FOLDER}/{number:05d}.json"


def write_record(folder: folders.Folder, record: TaskRecord) -> None:
    """Says in the place that a task is done."""
    folder.write_whole(
        record_name(record.number), record.as_text().encode(), unfinished_in=UNFINISHED_FOLDER
    )


def failed_write(place: str, error: OSError) -> TrainingError:
    """What a user reads where ``place`` can't be written."""
    fix = "mend that"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        fix = "make room"
    return TrainingError(
        f"{folders.shown(place)}: {said(error)}; what is done is kept: {fix} and give the same "
        "command, which goes on"
    )


def _contents(task: Task, read: Read | None) -> Iterator[tuple[Picture, bytes | OSError]]:
    """Each picture with its bytes, or why that file can't be read."""
    source = folders.open_folder(task.source)

    def content(picture: Picture) -> bytes | OSError:
        try:
            return read(picture.path) if read else source.read(picture.path, picture.bytes)
        except _OF_THE_FILE as error:
            return error
        except OSError as error:
            if error.errno == errno.ELOOP:  # a link that leads to itself
                return error
            raise TrainingError(
                f"{_where(task, picture)}: cannot be read: {said(error)}; run the same "
                "command to resume"
            ) from error

    if read is not None or not folders.is_remote(task.source):
        yield from ((picture, content(picture)) for picture in task.pictures)
        return
    with ThreadPoolExecutor(_REMOTE_READERS) as pool:
        ahead: deque[tuple[Picture, Future[bytes | OSError]]] = deque()
        for picture in task.pictures:
            ahead.append((picture, pool.submit(content, picture)))
            if len(ahead) >= 2 * _REMOTE_READERS:
                first, future = ahead.popleft()
                yield first, future.result()
        for first, future in ahead:
            yield first, future.result()


def _where(task: Task, picture: Picture) -> str:
    return f"{folders.shown(task.source)}/{printable(picture.path)}"


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {said(error) or os.strerror(error.errno or errno.EIO)}"

"""One conversion from the command line to the manifest."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any, Iterable, Mapping

from ..data import layout
from ..errors import TrainingError
from . import engines, folders, listing, plan
from .events import Say
from .options import Options
from .place import ConversionPlace
from .tasks import TaskRecord

_TENSORFLOW_DECODES = {"JPEG", "PNG", "GIF", "BMP"}  # tf.io.decode_image


def convert(options: Options, say: Say) -> None:
    """Carries a conversion out, or goes on with it; says events. Blocks.

    Raises:
        TrainingError: One line: why there is no result.
        KeyboardInterrupt: The workers have ended; the same options go on.
    """
    _require_libraries()
    source, place = folders.absolute(options.source), folders.absolute(options.place)
    _refuse_overlap(source, place)
    options = replace(options, source=source, place=place)
    found = listing.listed(source)
    wanted = plan.planned(options, found)
    target = ConversionPlace(place)
    with target.held() as alone:
        finished = target.finished(wanted)
        if finished is not None:
            say(_result(place, finished, None, 0))
            return
        for warning in found.warnings():
            say({"event": "warning", "message": warning})
        progress = Progress(wanted, target.begin(wanted, options.engine, alone), say)
        progress.start(options, found)
        try:
            _carry_out(options, wanted, progress, target)
        finally:
            target.clear_unfinished()
        manifest = target.finish(wanted, list(progress.records.values()))
        for warning in _content_warnings(list(progress.records.values()), options):
            say({"event": "warning", "message": warning})
        say(_result(place, manifest, progress.seconds, progress.pictures))


def _carry_out(
    options: Options, wanted: plan.Plan, progress: Progress, target: ConversionPlace
) -> None:
    left = [task for task in wanted.tasks if task.number not in progress.records]
    if not left:
        return
    try:
        engine = engines.start(options.engine, options.workers, options.address, len(left))
    except BaseException:
        target.take_back()
        raise
    try:
        progress.ready()
        for record in engine.run(left):
            progress.done(record)
    except engines.NotGivenOutError:
        target.take_back()
        raise
    finally:
        engine.close()
    lost = [task for task in left if task.number not in progress.records]
    if lost:
        raise TrainingError(
            f"{len(lost)} tasks were not done; give the same command, which goes on"
        )


class Progress:
    """What is done, and how fast; ``records`` are by the tasks' numbers."""

    def __init__(self, wanted: plan.Plan, done: dict[int, TaskRecord], say: Say) -> None:
        self.records = dict(done)
        # (pictures, bytes) of each task, added up once: a task holds many pictures
        sizes = {task.number: (len(task.pictures), task.bytes) for task in wanted.tasks}
        self._say, self._sizes = say, sizes
        self._whole = _sum(sizes.values())
        self._so_far = _sum(sizes[number] for number in done)
        self._began = time.monotonic()
        self.pictures = 0  # of this run

    def ready(self) -> None:
        """The workers wait for the first task: from now on time counts."""
        self._began = time.monotonic()
        self._say({"event": "ready"})

    @property
    def seconds(self) -> float:
        """Since the workers were ready."""
        return time.monotonic() - self._began

    def start(self, options: Options, found: listing.Listing) -> None:
        """Says what there is to do, and what an earlier run found."""
        self._say(
            {
                "event": "start",
                "source": folders.shown(options.source),
                "place": folders.shown(options.place),
                "engine": options.engine,
                "pictures": len(found.pictures),
                "bytes": found.bytes,
                "classes": list(found.classes),
                "tasks": len(self._sizes),
                "tasks_done": len(self.records),
                "ignored": found.ignored,
            }
        )
        for record in self.records.values():
            self._say_bad(record)

    def done(self, record: TaskRecord) -> None:
        """One more task is done."""
        if record.number in self.records:
            return
        self.records[record.number] = record
        size = self._sizes[record.number]
        self.pictures += size[0]
        self._so_far = _sum((self._so_far, size))
        self._say_bad(record)
        (count, all_bytes), (count_done, bytes_done) = self._whole, self._so_far
        rate = self.pictures / self.seconds if self.seconds > 0 else None
        self._say(
            {
                "event": "progress",
                "tasks": len(self._sizes),
                "tasks_done": len(self.records),
                "pictures": count,
                "pictures_done": count_done,
                "bytes": all_bytes,
                "bytes_done": bytes_done,
                "seconds": round(self.seconds, 3),
                "rate": rate,
                "seconds_left": (count - count_done) / rate if rate else None,
            }
        )

    def _say_bad(self, record: TaskRecord) -> None:
        for one in record.bad:
            self._say({"event": "bad", "path": one.path, "reason": one.reason})


def _sum(sizes: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """(pictures, bytes) of these together."""
    pictures = bytes_ = 0
    for one, of_one in sizes:
        pictures, bytes_ = pictures + one, bytes_ + of_one
    return pictures, bytes_


def _result(
    place: str, manifest: layout.Manifest, seconds: float | None, pictures: int
) -> Mapping[str, Any]:
    splits = {
        name: {"rows": split.rows, "bytes": split.bytes, "files": len(split.files)}
        for name, split in manifest.splits.items()
    }
    rows = sum(split.rows for split in manifest.splits.values())
    copies = int(manifest.made.get("copies", 0))
    return {
        "event": "result",
        "place": folders.shown(place),
        "made": seconds is not None,
        "classes": list(manifest.classes),
        "splits": splits,
        "pictures": rows // (1 + copies) + len(manifest.bad),
        "rows": rows,
        "bad": len(manifest.bad),
        "seconds": None if seconds is None else round(seconds, 3),
        "rate": pictures / seconds if seconds else None,
    }


def _content_warnings(records: list[TaskRecord], options: Options) -> list[str]:
    """What a decoder of the stored pictures may not do as one thinks."""
    if not options.recipe.keeps_bytes:
        return []
    said = []
    formats: dict[str, int] = {}
    for record in records:
        for name, count in record.formats.items():
            formats[name] = formats.get(name, 0) + count
    others = {name: formats[name] for name in sorted({*formats} - _TENSORFLOW_DECODES)}
    if others:
        counts = ", ".join(f"{count} {name}" for name, count in others.items())
        said.append(
            f"{counts} stored as they are: TensorFlow can't decode these; --format jpeg does"
        )
    turned = sum(record.turned for record in records)
    if turned:
        said.append(
            f"{turned} pictures are turned by their EXIF data, which many decoders ignore; "
            "--format jpeg or --size stores them upright"
        )
    return said


def _refuse_overlap(source: str, place: str) -> None:
    first, second = folders.shown(source), folders.shown(place)
    if not folders.is_remote(source) and not folders.is_remote(place):
        first, second = os.path.realpath(source), os.path.realpath(place)
    if f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/"):
        raise TrainingError(
            f"{second}: lies in {first} or around it; take a folder beside it for OUT"
        )


def _require_libraries() -> None:
    try:
        import PIL  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise TrainingError(
            f"conversion needs pyarrow and Pillow: {error}; pip install pyarrow Pillow"
        ) from error

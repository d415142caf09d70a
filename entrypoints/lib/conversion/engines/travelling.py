"""A task on a worker of a cluster, which need not have this package: it travels as plain bytes.

There the package has another name (``dask_code.packed``), so that the code of two jobs never mixes;
classes are found under whatever name it has.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import socket
import sys
import uuid
from importlib import metadata
from typing import Any, Callable, Iterable, Mapping, Sequence, Tuple

from ...errors import TrainingError
from ..tasks import Task, TaskRecord

# What decides over the bytes that are written; the second only where pictures are encoded.
ALIKE = ("pyarrow", "pillow")
RECORD, PROBLEM = "record", "problem"
# (RECORD or PROBLEM, text): nothing of ours has to be unpickled where it comes back.
Answer = Tuple[str, str]
_ROOT = __name__.rsplit(".", 3)[0]
# The jobs for which this process was looked at and found fit.
_fit: set[str] = set()


def packed(task: Task, marks: Marks) -> bytes:
    """``task`` for ``perform``."""
    about = {"package": _ROOT, "marks": marks.as_dict(), "task": pickle.dumps(task)}
    return pickle.dumps(about)


def record(answer: Answer) -> TaskRecord:
    """What a worker answered.

    Raises:
        TrainingError: It could not; the line is the worker's.
    """
    kind, text = answer
    if kind != RECORD:
        raise TrainingError(text)
    return TaskRecord.from_text(text)


def perform(content: bytes, read: Callable[[str], bytes] | None = None) -> Answer:
    """Carries a task out on a worker: looks once at whether this process can, then does it."""
    about = pickle.loads(content)
    marks = Marks(**about["marks"])
    if marks.key not in _fit:
        problem = marks.problem()
        if problem:
            return PROBLEM, problem
        _fit.add(marks.key)
    from ..work import perform as carry_out

    try:
        return RECORD, carry_out(_task(about["task"], about["package"]), read).as_text()
    except TrainingError as error:
        return PROBLEM, str(error)


def perform_delivered(content: bytes, delivered: Iterable[tuple[str, bytes]]) -> Answer:
    """The same with the bytes of (nearly) all its pictures, by their path below the source."""
    contents = dict(delivered)
    source: list[Callable[[str], bytes]] = []

    def read(path: str) -> bytes:
        found = contents.pop(path, None)
        if found is not None:
            return bytes(found)
        if not source:  # what the cluster's own reader leaves out: "_a.jpg", odd bytes in names
            from ..work import reader

            about = pickle.loads(content)
            source.append(reader(_task(about["task"], about["package"]).source))
        return source[0](path)

    return perform(content, read)


def look(marks: Mapping[str, Any]) -> tuple[str, str]:
    """(why this process cannot work for a job or "", its release of Pillow)."""
    return Marks(**marks).problem(), installed("pillow")


class Marks:
    """By what a worker sees that it can work: its packages, and this job's folders.

    Attributes:
        key: Of this job.
        versions: Of ALIKE, as they must be.
        source: A folder that it must see, or "".
        place: The same.
        plan: SHA-256 of the plan in the place, or "".
        some: Pictures below the source, and their sizes: one of them must be there.
    """

    def __init__(
        self,
        key: str,
        versions: Mapping[str, str],
        source: str,
        place: str,
        plan: str,
        some: Sequence[tuple[str, int]],
    ) -> None:
        self.key, self.versions = key, dict(versions)
        self.source, self.place, self.plan = source, place, plan
        self.some = list(some)

    def as_dict(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return dict(vars(self))

    def problem(self) -> str:
        """Why this process cannot work for the job, in one line; "" where it can."""
        where = f"{socket.gethostname()} ({sys.executable})"
        for name, wanted in self.versions.items():
            found = installed(name)
            if found != wanted:
                return (
                    f"worker on {where}: {name} {found or 'is not installed'}, expected {wanted} "
                    f"as here, since files must not depend on who wrote them; on the workers: pip "
                    f"install {' '.join(f'{one}=={what}' for one, what in self.versions.items())}"
                )
        if self.source and not self._sees_source():
            return (
                f"worker on {where}: does not see IMAGES ({self.source}); expected the same folder "
                "on every worker: mount it at that path, or take s3:// or gs://"
            )
        if self.place and plan_digest(self.place) != self.plan:
            return (
                f"worker on {where}: does not see OUT ({self.place}); expected the same folder "
                "on every worker: mount it at that path, or take s3:// or gs://"
            )
        return ""

    def _sees_source(self) -> bool:
        return any(_size(os.path.join(self.source, path)) == size for path, size in self.some)


def marks_of(tasks: Sequence[Task]) -> Marks:
    """The marks of a job; object stores are looked at by the tasks themselves."""
    from ..folders import is_remote

    first = tasks[0]
    encodes = first.recipe.copies or not first.recipe.keeps_bytes
    source = "" if is_remote(first.source) else first.source
    place = "" if is_remote(first.place) else first.place
    some = [task.pictures[0] for task in tasks[:: max(1, len(tasks) // 8)]]
    return Marks(
        key=uuid.uuid4().hex,
        versions={name: installed(name) for name in (ALIKE if encodes else ALIKE[:1])},
        source=source,
        place=place,
        plan=plan_digest(place) if place else "",
        some=[(picture.path, picture.bytes) for picture in some],
    )


def plan_digest(place: str) -> str:
    """SHA-256 of what lies in a place when its conversion begins; "" where that isn't there."""
    from ...data.layout import UNFINISHED_FOLDER

    try:
        with open(os.path.join(place, UNFINISHED_FOLDER, "plan.json"), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def installed(name: str) -> str:
    """A package's version in this Python; "" where it isn't there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _task(content: bytes, package: str) -> Task:
    found = _Unpickler(io.BytesIO(content), package).load()
    assert isinstance(found, Task)
    return found


class _Unpickler(pickle.Unpickler):
    """Finds the classes of ``package`` in this one, under its name here."""

    def __init__(self, file: io.BytesIO, package: str) -> None:
        super().__init__(file)
        self._package = package

    def find_class(self, module: str, name: str) -> Any:
        """As ``pickle`` does."""
        if module.startswith(f"{self._package}."):
            module = _ROOT + module[len(self._package) :]
        return super().find_class(module, name)

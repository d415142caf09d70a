"""Records that could not be sent: a file of JSON lines, and how they are sent later.

Its first line says whereto, its second is the run's beginning, so that it needs nothing else:

    {"kept": "mlflow", "experiment": "Default", "where": "http://HOST:5000"}
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any, Mapping, Sequence

from .. import storage
from .records import BEGIN, END, FILE, Record, from_line, is_whole, to_line

KIND = "kept"
SCRIPT = "send_tracking.py"


class Keeper:
    """Writes and reads the file of one run and one sink.

    Args:
        about: Of the sink, for the first line; ``kept`` names it.
        key: Of the run.
        folders: See :class:`lib.tracking.sender.Sender`; the working folder where there is none.
    """

    def __init__(self, about: Mapping[str, Any], key: str, folders: Sequence[str] = ()):
        self._about = dict(about)
        self._folders = list(folders) or [os.getcwd()]
        self._name = f"tracking-{about[KIND]}-{key[:8]}.jsonl"
        self._old: list[str] = []

    def taken_up(self) -> list[Record]:
        """What earlier starts of the run could not send, without how these began and ended."""
        found: list[Record] = []
        for folder in self._folders:
            path = storage.join(folder, self._name)
            with contextlib.suppress(OSError, ValueError):
                records = read(storage.read(path).decode("utf-8"), folder)[1]
                found += [
                    one for one in records if one["what"] not in (BEGIN, END) and is_whole(one)
                ]
                self._old.append(path)
        return found

    def write(self, begin: Record, end: Record, left: Sequence[Record], finished: bool) -> None:
        """Writes ``left``; the next ``keep`` replaces or removes it.

        How the run began and ended is written with it though that was sent: whoever sends the rest
        opens the run once more, and must close it as it was.

        Raises:
            OSError: It cannot be written.
        """
        folder = self._folder(finished)
        path = storage.join(folder, self._name)
        whole = left if any(one["what"] == END for one in left) else [*left, end]
        storage.write_whole(path, content(self._about, begin, whole, folder))
        if path not in self._old:
            self._old.append(path)

    def keep(
        self,
        begin: Record,
        end: Record,
        left: Sequence[Record],
        finished: bool,
        title: str,
        reason: str,
        lost: int,
    ) -> list[str]:
        """Writes ``left`` where there is something, removes the files before it, and gives the
        lines that say so."""
        lines = []
        path = ""
        if left:
            path = storage.join(self._folder(finished), self._name)
            why = f" ({reason})" if reason else ""
            count = "1 record" if len(left) == 1 else f"{len(left)} records"
            try:
                self.write(begin, end, left, finished)
            except OSError as error:
                lines.append(f"tracking: {count} for {title} are lost: {path}: {error}")
                self._old = []  # what these have is better than nothing
            else:
                lines.append(
                    f"tracking: {count} for {title} not sent{why}, kept in {path}; to send them: "
                    f"{_command()} {path}"
                )
        if lost:
            lines.append(f"tracking: {lost} records for {title} are lost: no room to hold them")
        for old in self._old:
            if old != path:
                with contextlib.suppress(OSError):
                    storage.remove(old)
        return lines

    def _folder(self, finished: bool) -> str:
        return self._folders[0 if finished else -1]


def content(about: Mapping[str, Any], begin: Record, left: Sequence[Record], folder: str) -> bytes:
    """The file's bytes. Paths of files below ``folder`` are written as from there."""
    lines = [json.dumps(dict(about), sort_keys=True) + "\n", to_line(begin)]
    for one in left:
        if one["what"] == FILE and not storage.is_remote(one["path"]):
            relative = os.path.relpath(one["path"], folder)
            one = one if relative.startswith("..") else {**one, "path": relative}
        lines.append(to_line(one))
    return "".join(lines).encode("utf-8")


def read(text: str, folder: str) -> tuple[dict[str, Any], list[Record]]:
    """What the first line says, and the records. Paths of files are absolute again.

    Raises:
        ValueError: It is no such file.
    """
    first, _, rest = text.partition("\n")
    about = json.loads(first)
    if not isinstance(about, dict) or not isinstance(about.get(KIND), str):
        raise ValueError("no file of records that a training has kept")
    records = [_record(number, line) for number, line in enumerate(rest.splitlines(), 2) if line]
    for one in records:
        path = one.get("path")
        if one["what"] == FILE and isinstance(path, str) and not storage.is_remote(path):
            one["path"] = os.path.join(folder, path)
    if not records or records[0]["what"] != BEGIN:
        raise ValueError("its run has no beginning")
    return about, records


def _record(number: int, line: str) -> Record:
    try:
        return from_line(line)
    except ValueError as error:
        raise ValueError(f"line {number} is no record of a run, or a part of one") from error


def _command() -> str:
    """The line that sends a file from this machine."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return f"{sys.executable} {os.path.join(here, SCRIPT)}"

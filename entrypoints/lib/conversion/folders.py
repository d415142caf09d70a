"""A folder on this machine or in an object store (s3://, gs://): read, written whole, cleared.

pyarrow reaches the object stores; nothing of it is needed for this machine's folders. Errors are
OSErrors, as from the file system.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from typing import IO, Any

from ..errors import TrainingError
from ..object_stores import opened, said

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SCHEMES = ("s3", "gs", "gcs", "file")


def absolute(place: str) -> str:
    """``place`` so that it means the same in every process: a URL, or an absolute path.

    Raises:
        TrainingError: A URL of a kind that isn't known.
    """
    if not _URL.match(place):
        return os.path.abspath(os.path.expanduser(place))
    scheme, _, rest = place.partition("://")
    if scheme.lower() not in _SCHEMES:
        raise TrainingError(f"{place}: {scheme}://, expected a folder, s3://... or gs://...")
    return os.path.abspath(rest) if scheme.lower() == "file" else place


def is_remote(place: str) -> bool:
    """Whether ``place`` is a URL."""
    return bool(_URL.match(place))


def shown(place: str) -> str:
    """``place`` as people and files may read it: a URL without keys and settings."""
    if not is_remote(place):
        return place
    scheme, _, rest = place.partition("://")
    bucket, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{bucket.rpartition('@')[2]}{slash}{path}".rstrip("/")


def open_folder(place: str) -> Folder:
    """The folder at an ``absolute`` place, there or not.

    Raises:
        TrainingError: Its kind of object store can't be reached from here.
    """
    return RemoteFolder(place) if is_remote(place) else Folder(place)


class Folder:
    """A folder of this machine. Names are below it, with '/'."""

    def __init__(self, place: str) -> None:
        self.place = place

    def path(self, name: str) -> str:
        """Where that name lies."""
        return os.path.join(self.place, name)

    def read(self, name: str, size: int = 0) -> bytes:
        """A file's bytes; ``size`` is what is expected, and saves looking."""
        handle = os.open(self.path(name), os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = os.read(handle, size + 1)
            if len(content) == size and size:
                return content
            pieces = [content]
            while pieces[-1]:
                pieces.append(os.read(handle, 1 << 20))
            return b"".join(pieces)
        finally:
            os.close(handle)

    def names(self, folder: str = "") -> list[str]:
        """The names in a folder, sorted; none where it isn't there."""
        try:
            return sorted(os.listdir(self.path(folder)))
        except FileNotFoundError:
            return []

    def make(self, folder: str = "") -> None:
        """Makes a folder and those above it."""
        os.makedirs(self.path(folder), exist_ok=True)

    def create(self, name: str) -> IO[bytes]:
        """A new file, open for writing."""
        return open(self.path(name), "xb")

    def finish(self, unfinished: str, name: str) -> None:
        """Gives a written file its final name, in one step."""
        handle = os.open(self.path(unfinished), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(self.path(unfinished), self.path(name))

    def write_whole(self, name: str, content: bytes, unfinished_in: str) -> None:
        """Writes a file that is there whole or not at all."""
        unfinished = unfinished_name(unfinished_in)
        try:
            with self.create(unfinished) as file:
                file.write(content)
            self.finish(unfinished, name)
        except BaseException:
            self.remove(unfinished)
            raise

    def remove(self, name: str) -> None:
        """Removes a file that may be there; never raises."""
        try:
            os.remove(self.path(name))
        except OSError:
            return

    def remove_folder(self, name: str) -> None:
        """Removes a folder and all in it, where it is there; what can't be removed stays."""
        shutil.rmtree(self.path(name), ignore_errors=True)

    def size(self, name: str) -> int | None:
        """A file's bytes; None where there is none."""
        try:
            return os.stat(self.path(name)).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None


class RemoteFolder(Folder):
    """A folder in an object store. A name appears when its object is whole."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self._files, self._root = _file_system(place)

    def path(self, name: str) -> str:
        """The object's path in pyarrow's file system."""
        return f"{self._root}/{name}".rstrip("/")

    def read(self, name: str, size: int = 0) -> bytes:
        """An object's bytes."""
        # Google's open_input_file fetches the object under Python's lock, so that no two pictures
        # came at once; the stream of others asks for every piece of it anew.
        google = self._files.type_name == "gcs"
        begin = self._files.open_input_stream if google else self._files.open_input_file
        with begin(self.path(name)) as file:
            return bytes(file.read())

    def listed(self) -> list[tuple[str, int]]:
        """(name, bytes) of all objects below, and (name + "/", 0) of all folders."""
        from pyarrow import fs

        found: dict[str, int] = {}
        for info in self._files.get_file_info(fs.FileSelector(self._root, recursive=True)):
            name = info.path[len(self._root) + 1 :].rstrip("/")
            if info.type == fs.FileType.File:
                found[name] = int(info.size)
            elif info.type == fs.FileType.Directory:
                found[name + "/"] = 0
            # Google's lists have no folders but those that somebody made.
            while "/" in name:
                name = name.rpartition("/")[0]
                found[name + "/"] = 0
        return list(found.items())

    def names(self, folder: str = "") -> list[str]:
        """The names in a folder, sorted; none where it isn't there."""
        from pyarrow import fs

        root, google = self.path(folder), self._files.type_name == "gcs"
        # Google's list of one level has no folders.
        selector = fs.FileSelector(root, allow_not_found=True, recursive=google)
        below = (info.path[len(root) + 1 :] for info in self._files.get_file_info(selector))
        return sorted({name.partition("/")[0] for name in below})

    def make(self, folder: str = "") -> None:
        """Nothing: an object store has no folders."""

    def create(self, name: str) -> Any:
        """A new object, open for writing."""
        return self._files.open_output_stream(self.path(name))

    def finish(self, unfinished: str, name: str) -> None:
        """Gives a written object its final name."""
        self._files.move(self.path(unfinished), self.path(name))

    def remove(self, name: str) -> None:
        """Removes an object that may be there; never raises."""
        try:
            self._files.delete_file(self.path(name))
        except OSError:
            return

    def remove_folder(self, name: str) -> None:
        """Removes all objects below; what can't be removed stays."""
        try:
            self._files.delete_dir(self.path(name))
        except OSError:
            return

    def size(self, name: str) -> int | None:
        """An object's bytes; None where there is none."""
        from pyarrow import fs

        info = self._files.get_file_info(self.path(name))
        return int(info.size) if info.type == fs.FileType.File else None


def unfinished_name(folder: str) -> str:
    """A name in ``folder`` that nobody else takes."""
    return f"{folder}/unfinished-{os.getpid()}-{uuid.uuid4().hex[:12]}"


def _file_system(place: str) -> tuple[Any, str]:
    try:
        return opened(place)
    except ImportError as error:
        raise TrainingError(
            f"{shown(place)}: no pyarrow here ({error}), which reads object stores; "
            "pip install pyarrow"
        ) from error
    except (ValueError, OSError, NotImplementedError) as error:
        raise TrainingError(f"{shown(place)}: {said(error)}") from error

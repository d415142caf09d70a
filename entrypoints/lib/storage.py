"""Files that are whole or absent, in a folder of this machine or behind an address like gs://.

A file is written under a temporary name in the same folder, flushed to the disk and then renamed.
So a full disk or a kill leaves the file that stood there before. Paths with a scheme (gs://, s3://)
go through ``tf.io.gfile``; TensorFlow is imported for those alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import Any, Iterator

UNFINISHED = ".unfinished"


def is_remote(path: str) -> bool:
    """Whether ``path`` has a scheme (gs://bucket/folder) and is no folder of this machine."""
    return "://" in path


def join(folder: str, name: str) -> str:
    """``name`` in ``folder``, local or remote."""
    return folder.rstrip("/") + "/" + name if is_remote(folder) else os.path.join(folder, name)


def write_whole(path: str, content: bytes) -> None:
    """Makes ``path`` a file with that content, once all of it is on disk.

    Args:
        path: The file that is to exist, or to be replaced. Its folder exists.
        content: All of it.

    Raises:
        OSError: The disk is full, the folder cannot be written, the service refuses. ``path`` is
            then what it was before, and no temporary file is left.
    """
    folder, name = path.rsplit("/", 1) if is_remote(path) else os.path.split(path)
    unfinished = join(folder, f".{name}.{os.getpid()}{UNFINISHED}")
    if is_remote(path):
        _write_whole_remote(path, unfinished, content)
        return
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        _remove_quietly(unfinished)
        raise
    _sync_folder(folder or ".")


def write_new(path: str, content: bytes) -> bool:
    """Makes ``path`` a file with that content, where none is there; False where one is.

    Behind an address, and on a file system without hard links, of two processes that call this in
    the same moment both may get True; the later one's content then stays.

    Raises:
        OSError: As of :func:`write_whole`.
    """
    folder, name = path.rsplit("/", 1) if is_remote(path) else os.path.split(path)
    if name in names(folder):
        return False
    if not is_remote(path):
        whole = join(folder, f".{name}.{os.getpid()}.new{UNFINISHED}")
        write_whole(whole, content)
        try:
            os.link(whole, path)
            return True
        except FileExistsError:
            return False
        except OSError:
            pass  # no hard links
        finally:
            _remove_quietly(whole)
    write_whole(path, content)
    return True


def prepare_folder(folder: str) -> None:
    """Makes ``folder`` and proves that a file can be written in it; leaves no file there.

    Raises:
        OSError: It cannot be made or written, or the disk is full to the last block.
    """
    probe = join(folder, f".probe.{os.getpid()}{UNFINISHED}")
    if is_remote(folder):
        with _remote_errors_as_os_errors():
            gfile = _gfile()
            gfile.makedirs(folder)
            with gfile.GFile(probe, "wb") as remote:
                remote.write(b"\0")
            gfile.remove(probe)
        return
    os.makedirs(folder, exist_ok=True)
    try:
        with open(probe, "wb") as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
    finally:
        _remove_quietly(probe)


def free_bytes(folder: str) -> int | None:
    """Bytes that are free where ``folder`` lies, or None where that question has no answer."""
    return None if is_remote(folder) else shutil.disk_usage(folder).free


def names(folder: str) -> list[str]:
    """The sorted names in ``folder``; empty when there is no such folder.

    Raises:
        OSError: It cannot be read.
    """
    if not is_remote(folder):
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    with _remote_errors_as_os_errors():
        gfile = _gfile()
        if not gfile.isdir(folder):
            return []
        return sorted(name.rstrip("/") for name in gfile.listdir(folder))


def read(path: str) -> bytes:
    """The content of the file ``path``.

    Raises:
        OSError: It is absent or cannot be read.
    """
    if not is_remote(path):
        with open(path, "rb") as file:
            return file.read()
    with _remote_errors_as_os_errors(), _gfile().GFile(path, "rb") as remote:
        return bytes(remote.read())


def remove(path: str) -> None:
    """Removes the file ``path``.

    Raises:
        OSError: It is absent or may not be removed.
    """
    if not is_remote(path):
        os.remove(path)
        return
    with _remote_errors_as_os_errors():
        _gfile().remove(path)


def remove_unfinished(folder: str) -> None:
    """Removes what a process that was killed while it wrote has left in ``folder``.

    Raises:
        OSError: It cannot be removed.
    """
    for name in names(folder):
        if name.endswith(UNFINISHED):
            with contextlib.suppress(FileNotFoundError):  # another process's, which is through
                remove(join(folder, name))


def _remove_quietly(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)


def _sync_folder(folder: str) -> None:
    """Puts a rename on disk; a file system that cannot do that for a folder is left in peace."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_whole_remote(path: str, unfinished: str, content: bytes) -> None:
    """An object store shows an object once its upload has ended; elsewhere the rename counts."""
    with _remote_errors_as_os_errors():
        gfile = _gfile()
        with gfile.GFile(unfinished, "wb") as remote:
            remote.write(content)
        gfile.rename(unfinished, path, overwrite=True)


def _gfile() -> Any:
    import tensorflow

    return tensorflow.io.gfile


@contextlib.contextmanager
def _remote_errors_as_os_errors() -> Iterator[None]:
    """TensorFlow's error types become OSError, the one type that callers know."""
    from tensorflow import errors

    try:
        yield
    except (errors.OpError, NotImplementedError) as error:
        raise OSError(str(error)) from error

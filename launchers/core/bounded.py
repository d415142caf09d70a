"""The bytes of a file that somebody names, bounded in kind and in size, and their text.

A pipe without a writer would hold the command for ever, a device never ends, and a file of any
size would be taken into memory: each is refused before it is read.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
import sys
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.open_flags import flags

# The largest that services take are some hundred KB; Terraform's plans are the longest around.
LARGEST_BYTES = 8 << 20
# What a shell makes of `<(command)`: a pipe, but one that has its writer.
_STREAM = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_EXPECTED = "a file that can be read"
_BOMS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def read_text(file: str, fix: str = "") -> str:
    """The text of ``file``, UTF-8 with or without its mark; ``-`` is standard input.

    Blocks only where standard input or a shell's ``<(command)`` has not ended.

    Raises:
        LaunchError: It cannot be read, is no regular file or above 8 MiB, or is no UTF-8 text;
            ``fix`` says what to do instead.
    """
    data = read_bytes(file, fix)
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            found, how = f"{name}, not UTF-8 text", fix or "save it as UTF-8"
            raise LaunchError(RULES["file-unreadable"].at(file, found, _EXPECTED, how))
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        raise LaunchError(_unreadable(file, "not UTF-8 text", fix)) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        found = "a NUL character"
        raise LaunchError(RULES["file-text"].at(f"{file}:{line}", found))
    return text


def read_bytes(file: str, fix: str = "") -> bytes:
    """The bytes of ``file``; ``-`` is standard input.

    Raises:
        LaunchError: As :func:`read_text` has it.
    """
    try:
        if file == "-":
            return _of_stdin()
        if _STREAM.fullmatch(file):
            with open(file, "rb") as stream:
                return _bounded(file, stream)
        # Not blocking: a named pipe would wait for its writer here.
        handle = os.open(file, flags(os.O_RDONLY, "O_NONBLOCK", "O_NOCTTY"))
    except (OSError, ValueError) as error:
        raise LaunchError(_unreadable(file, _reason(error), fix)) from None
    try:
        status = os.fstat(handle)
        other = other_kind(status.st_mode)
        if other:
            raise LaunchError(_unreadable(file, other, fix))
        if status.st_size > LARGEST_BYTES:
            raise LaunchError(_too_long(file))
        with open(handle, "rb", closefd=False) as stream:
            return _bounded(file, stream)
    except OSError as error:
        raise LaunchError(_unreadable(file, _reason(error), fix)) from None
    finally:
        os.close(handle)


def other_kind(mode: int) -> str:
    """What a thing of that ``st_mode`` is, in words; empty for a file with bytes.

    Example:
        >>> other_kind(stat.S_IFIFO)
        'a named pipe'
    """
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENXIO:
        return "a socket"
    return getattr(error, "strerror", None) or "no file's name"


def _of_stdin() -> bytes:
    if sys.stdin is None:
        raise LaunchError(_unreadable("-", "standard input is closed", ""))
    raw = getattr(sys.stdin, "buffer", None)
    if raw is not None:
        return _bounded("-", raw)
    return sys.stdin.read(LARGEST_BYTES + 1).encode("utf-8", "surrogatepass")


def _bounded(file: str, stream: Any) -> bytes:
    data: bytes = stream.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise LaunchError(_too_long(file))
    return data


def _too_long(file: str) -> Problem:
    size = LARGEST_BYTES >> 20
    return RULES["file-too-large"].at(file, f"more than {size} MiB", f"at most {size} MiB")


def _unreadable(file: str, reason: str, fix: str) -> Problem:
    return RULES["file-unreadable"].at(file, reason, _EXPECTED, fix)

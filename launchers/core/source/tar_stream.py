"""A tar stream whose every byte is decided here.

The bundle's hash is part of a job's name, so the stream may depend on nothing but names, contents
and the executable bit: no time, no owner, no umask, no order of a folder, no Python version.
"""

from __future__ import annotations

_BLOCK = 512
_RECORD = 20 * _BLOCK  # what tar programs pad a stream to
_FILE, _LINK, _EXTENDED = b"0", b"2", b"x"


def header(name: str, size: int, *, executable: bool = False, link: str = "") -> bytes:
    """The blocks that come before a file's content.

    POSIX.1-1988 (ustar) where name and link are plain ASCII of up to 100 bytes; else an extended
    header of POSIX.1-2001 (pax) carries them as UTF-8.

    Args:
        name: Path in the archive, relative, with ``/``.
        size: Bytes of content that follow; 0 for a link.
        executable: Mode 755 instead of 644.
        link: Target of a symbolic link, relative to the link's own folder; empty for a file.
    """
    records = b"".join(
        _record(key, value)
        for key, value in (("linkpath", link), ("path", name))
        if not value.isascii() or len(value) > 100
    )
    extended = b""
    if records:
        extended = _ustar("././@PaxHeader", len(records), 0o644, _EXTENDED, "") + padded(records)
    mode = 0o755 if executable else 0o644
    return extended + _ustar(name, size, mode, _LINK if link else _FILE, link)


def padded(data: bytes) -> bytes:
    """``data``, filled with zeros to whole blocks."""
    return data + padding(len(data))


def padding(size: int) -> bytes:
    """The zeros that come after a content of ``size`` bytes."""
    return b"\0" * (-size % _BLOCK)


def end(size: int) -> bytes:
    """The end of a stream that has ``size`` bytes so far: two empty blocks and the last record."""
    blocks = 2 * _BLOCK
    return b"\0" * (blocks + -(size + blocks) % _RECORD)


def _record(key: str, value: str) -> bytes:
    """One pax record, ``length key=value``, whose length counts itself."""
    rest = f" {key}={value}\n".encode()
    length = len(rest)
    while length != len(rest) + len(str(length)):
        length = len(rest) + len(str(length))
    return str(length).encode() + rest


def _ustar(name: str, size: int, mode: int, kind: bytes, link: str) -> bytes:
    short = name.encode("ascii", "replace")[:100]
    target = link.encode("ascii", "replace")[:100]
    block = b"".join(
        (
            short.ljust(100, b"\0"),
            b"%07o\0" % mode,
            b"%07o\0" % 0,  # owner
            b"%07o\0" % 0,  # group
            b"%011o\0" % size,
            b"%011o\0" % 0,  # time
            b" " * 8,  # the checksum counts itself as blanks
            kind,
            target.ljust(100, b"\0"),
            b"ustar\x0000",
        )
    ).ljust(_BLOCK, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]

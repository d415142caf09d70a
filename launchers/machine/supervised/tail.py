"""The end of a log file, without reading the rest."""

from __future__ import annotations

from pathlib import Path


def lines_of(path: Path, size: int) -> list[str]:
    """The whole lines in a file's last ``size`` bytes, the oldest first; none where there is no
    such file. A byte that is no UTF-8 is a lone surrogate in the text (PEP 383).

    Raises:
        OSError: It cannot be read.
    """
    try:
        with path.open("rb") as stream:
            end = stream.seek(0, 2)
            begin = max(0, end - size)
            # One byte more, by which it is known whether the first line is whole.
            stream.seek(max(0, begin - 1))
            data = stream.read(end - begin + 1)
    except FileNotFoundError:
        return []
    if begin:
        data = data.partition(b"\n")[2]
    lines = data.split(b"\n")[:-1]  # behind the last end is what is being written
    return [line.decode("utf-8", "surrogateescape") for line in lines]

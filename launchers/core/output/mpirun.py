"""Lines of a job whose ranks print through mpirun.

mpirun puts its tag before every piece that a rank writes, not before every line (Open MPI 4.1,
``--tag-output``). An unbuffered ``print`` writes its text and the line's end as two pieces, so a
tag stands at the end of the line; and pieces of two ranks may share a line.
"""

from __future__ import annotations

from launchers.core.model.jobs import LogLine
from launchers.core.output.lines import MPI_TAG, parse_tagged


def untangled(text: str, time: float = 0.0, host: str = "") -> list[LogLine]:
    """The lines of ranks that ``text``, one line of mpirun's output, is made of; at least one.

    Neighbouring pieces of one rank are one line again.

    Example:
        >>> [(line.rank, line.text) for line in untangled("[1,0]<stdout>:a[1,1]<stdout>:b")]
        [(0, 'a'), (1, 'b')]
    """
    starts = [match.start() for match in MPI_TAG.finditer(text)]
    if not starts:
        return [parse_tagged(text, time, host)]
    before = [parse_tagged(text[: starts[0]], time, host)] if starts[0] else []
    lines: list[LogLine] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = parse_tagged(text[start:end], time, host)
        if lines and lines[-1].rank == piece.rank:
            piece = LogLine(time, piece.host, piece.rank, lines.pop().text + piece.text)
        lines.append(piece)
    # A piece that only ends another rank's line says nothing.
    told = [line for line in lines if line.text]
    return before + (told or lines[:1])

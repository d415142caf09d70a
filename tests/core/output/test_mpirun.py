"""mpirun's tags before pieces of lines."""

from __future__ import annotations

import pytest

from launchers.core.output.mpirun import untangled


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a line of the toolkit", [(None, "a line of the toolkit")]),
        ("[1,3]<stdout>:epoch 1", [(3, "epoch 1")]),
        ("[1,mpirank:3,algo-2]<stdout>:epoch 1", [(3, "epoch 1")]),
        ("[1,0]<stdout>:an unbuffered print[1,0]<stdout>:", [(0, "an unbuffered print")]),
        ("[1,0]<stdout>:of[1,1]<stderr>:two", [(0, "of"), (1, "two")]),
        ("[1,0]<stdout>:[1,1]<stdout>:one rank's line ends", [(1, "one rank's line ends")]),
        ("[1,0]<stdout>:", [(0, "")]),
        ("toolkit[1,2]<stdout>:rank", [(None, "toolkit"), (2, "rank")]),
        ("", [(None, "")]),
    ],
)
def test_each_piece_comes_to_its_rank(text: str, expected: list[tuple[int | None, str]]) -> None:
    assert [(line.rank, line.text) for line in untangled(text, 1.0, "algo-1")] == expected


def test_horovodruns_own_tag_is_known() -> None:
    (line,) = untangled("[3]<stderr>:a line", host="h")
    assert (line.rank, line.host, line.text) == (3, "h", "a line")

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints import horovod_ranks

pytestmark = [pytest.mark.horovod, pytest.mark.usefixtures("warm_ranks")]

SCRIPT = f"""
import json, sys
sys.path.insert(0, {str(horovod_ranks.ENTRYPOINTS)!r})
from lib.tensorflow import stack
from lib.errors import PeerEndedError, TrainingError
stack.import_quietly()
import numpy as np
import tensorflow as tf
from lib.tensorflow.ranks import HorovodRanks

ranks = HorovodRanks()
rank = ranks.rank

def fail_on(*those):
    if rank in those:
        raise TrainingError("no data on rank %d" % rank)
    return rank

def outcome(call):
    try:
        return call()
    except (TrainingError, PeerEndedError) as error:
        return type(error).__name__ + ": " + str(error)

variable = tf.Variable([float(rank + 7)])
statistics, count = tf.Variable([[float(rank), 4.0], [2.0, float(rank)]]), tf.Variable(rank + 5)
found = {{
    "who": [rank, ranks.size, ranks.position, ranks.on_this_host, ranks.first],
    "average": ranks.average({{"loss": float(rank)}}, weight=3.0 if rank else 1.0),
    "from first": ranks.from_first({{"epoch": 10 + rank}}),
    "gather": ranks.gather([rank]),
    "on first": outcome(lambda: ranks.on_first(lambda: fail_on(1))),
    "none fails": outcome(lambda: ranks.together(lambda: fail_on())),
    "one fails": outcome(lambda: ranks.together(lambda: fail_on(1))),
    "both fail": outcome(lambda: ranks.together(lambda: fail_on(0, 1))),
    "in step": outcome(lambda: ranks.check_in_step([np.ones(3)], {{"Horovod": "1"}})),
    "drifted": outcome(lambda: ranks.check_in_step([np.ones(3), np.full(3, 1 + rank / 10)], {{}})),
    "averaged": (
        ranks.average_variables([statistics, count]),
        [statistics.numpy().tolist(), int(count.numpy())],
    )[1],
    "same": (ranks.same_variables([variable]), variable.numpy().tolist())[1],
}}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("ranks")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    ranks = horovod_ranks.run(folder, script=script)
    assert [rank.exit_code for rank in ranks] == [0, 0], ranks
    return [json.loads(rank.stdout) for rank in ranks]


def test_each_rank_knows_who_it_is(found: list[dict[str, Any]]) -> None:
    assert [rank["who"] for rank in found] == [[0, 2, 0, 2, True], [1, 2, 1, 2, False]]


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("average", {"loss": 0.75}),
        ("from first", {"epoch": 10}),
        ("gather", [[0], [1]]),
        ("same", [7.0]),
    ],
)
def test_all_ranks_get_the_same_answer(
    found: list[dict[str, Any]], what: str, expected: object
) -> None:
    assert [rank[what] for rank in found] == [expected, expected]


def test_statistics_are_averaged_and_what_counts_stays(found: list[dict[str, Any]]) -> None:
    assert [rank["averaged"] for rank in found] == [
        [[[0.5, 4.0], [2.0, 0.5]], 5],
        [[[0.5, 4.0], [2.0, 0.5]], 6],
    ]


@pytest.mark.parametrize(
    ("what", "first", "second"),
    [
        ("on first", 0, None),
        ("none fails", 0, 1),
        ("in step", None, None),
        ("one fails", "PeerEndedError: rank 1: no data", "TrainingError: no data on rank 1"),
        ("both fail", "TrainingError: no data on rank 0 (other", "PeerEndedError: rank 0: no data"),
        ("drifted", "TrainingError: the model of rank 1 differs", "PeerEndedError: rank 0: the"),
    ],
)
def test_what_fails_on_one_rank_ends_all_and_one_rank_alone_says_why(
    found: list[dict[str, Any]], what: str, first: str | int | None, second: str | int | None
) -> None:
    for rank, expected in zip(found, (first, second), strict=True):
        if isinstance(expected, str):
            assert str(rank[what]).startswith(expected)
        else:
            assert rank[what] == expected

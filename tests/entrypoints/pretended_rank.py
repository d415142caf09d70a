"""One rank of several of a script of Keras, with nobody else: it says what it would tell them.

    python pretended_rank.py RANK SIZE SCRIPT ARGUMENTS...

A line ``told:`` is an epoch's number of samples, loss and accuracy on this rank; ``score:`` is its
model's loss and accuracy on its share of the test split; ``drawn:`` what layers would draw next.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RANK, SIZE, SCRIPT = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
sys.path.insert(0, str(Path(SCRIPT).parent))

from lib import results  # noqa: E402
from lib.ranks import Ranks  # noqa: E402
from lib.tensorflow import stack  # noqa: E402

stack.import_quietly()

import horovod.tensorflow as hvd  # noqa: E402
import tensorflow as tf  # noqa: E402
from lib.tensorflow import ranks  # noqa: E402


class PretendedRanks(ranks.HorovodRanks):
    def __init__(self) -> None:
        hvd.init()
        Ranks.__init__(self, RANK, SIZE, 0, 1)

    def gather(self, value: Any) -> list[Any]:
        return [value] * SIZE

    def from_first(self, value: Any) -> Any:
        return value

    def average(self, values: Mapping[str, float], weight: float) -> dict[str, float]:
        print("told:", weight, values["loss"], values["accuracy"], flush=True)
        return dict(values)


evaluate = results.evaluate


def scored(*arguments: Any) -> Any:
    found = evaluate(*arguments)
    assert found is not None
    print("score:", found.loss, found.accuracy, flush=True)
    return found


results.evaluate = scored
ranks.HorovodRanks = PretendedRanks  # type: ignore[misc]
sys.argv = sys.argv[3:]
try:
    runpy.run_path(SCRIPT, run_name="__main__")
finally:
    print("drawn:", float(tf.random.uniform(())), flush=True)

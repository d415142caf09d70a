"""A study of real ranks on this machine."""

from __future__ import annotations

import pytest

from tests.cli.command import Launch
from tests.keras_2 import KERAS_2

pytestmark = pytest.mark.horovod

# Two steps of nothing but an exchange; the second rank halves the time that it says.
TRAIN = (
    KERAS_2
    + """\
import sys
import horovod.tensorflow as hvd
import tensorflow as tf
hvd.init()
print(sys.argv[1:], flush=True)
total = int(hvd.allreduce(tf.constant(1.0), op=hvd.Sum))
for epoch in (1, 2):
    print(f"progress: epoch {epoch}/2, step 1/1, {50 * total} images/s, loss 0.5, "
          f"{epoch * 4 / total} s", flush=True)
"""
)


def test_ranks_that_prove_their_world_are_compared_with_their_shares_of_the_batch(launch: Launch):
    launch.write("train.py", TRAIN)
    answer = launch(
        *("scaling", "local", "train.py", "--processes", "1,2", "--repeat", "1", "--proof", "init"),
        *("--batch", "total", "--json", "--", "--batch-size", "64"),
        TF_CPP_MIN_LOG_LEVEL="3",
    )

    assert answer.code == 0, answer.err
    one, two = answer.json["rows"]
    assert [one["world_size"], two["world_size"]] == [1, 2]
    assert two["epoch_seconds"]["median"] == 2.0
    assert two["speed_up"]["median"] == 2.0
    logs = {
        row["world_size"]: launch("logs", row["runs"][0]["job"], "--rank", "0").out
        for row in (one, two)
    }
    assert "['--batch-size', '64']" in logs[1]
    assert "['--batch-size', '32']" in logs[2]

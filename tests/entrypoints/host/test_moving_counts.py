"""Which lines move a count, and which only say that somebody prints."""

from __future__ import annotations

import pytest
from launch_runtime.host.moving_counts import MovingCounts

MOVING = {
    "ours": ["progress: epoch 1/3, step 1/22, 9 images/s", "progress: epoch 1/3, step 2/22"],
    "bar": ["\r 3/10 [==>...] - ETA: 6s", "\b\b\r 4/10 [===>..] - ETA: 5s"],
    "tqdm": [" 40%|##  | 40/100 [00:40<01:00, 1it/s]", " 41%|##  | 41/100 [00:41<01:00, 1it/s]"],
    "words": ["step 100 loss 0.5", "step 200 loss 0.4"],
    "epochs": ["Epoch: [0][ 5/9]", "Epoch: [1][ 5/9]"],
    "in batches": ["evaluated 45/80 Batches", "evaluated 46/80 Batches"],
    "samples": ["Train Epoch: 1 [640/60000 (1%)]", "Train Epoch: 1 [1280/60000 (2%)]"],
    "begun again": ["step 90/100", "step 10/100", "step 20/100"],
}
STANDING = {
    "alive": ["alive", "alive"],
    "times": ["2026/11/23 10:00:01 alive", "2026/11/24 10:00:02 alive"],
    "the same": ["step 5/10", "step 5/10"],
    "a measure that goes up and down": ["memory 45/80 GB", "memory 40/80 GB", "memory 45/80 GB"],
    "a measure that goes up": ["memory 45/80 GB", "memory 46/80GiB", "memory 47/80 MB"],
    "a path": ["/data/1/2", "/data/1/3"],
    "a rate": ["GPU 93%", "GPU 94%"],
    "once": ["step 5/10"],
}


@pytest.mark.parametrize("what", MOVING)
def test_a_count_that_goes_up_moves(what: str) -> None:
    counts = MovingCounts()
    fed = [counts.feed(line.encode()) for line in MOVING[what]]
    assert fed[-1], what
    assert counts.moves == 1
    assert not fed[0], "the first is no move yet"


@pytest.mark.parametrize("what", STANDING)
def test_what_counts_nothing_moves_nothing(what: str) -> None:
    counts = MovingCounts()
    for line in STANDING[what] * 3:
        counts.feed(line.encode())
    assert counts.moves == 0


def test_no_more_counts_are_kept_than_a_training_has() -> None:
    counts = MovingCounts()
    for number in range(100_000):
        counts.feed(b"1/%d" % number)
    assert len(counts._highest) <= 64
    assert not counts.feed(b"9" * 1_000_000 + b"/3" * 1_000_000)

"""The shared script on Parquet and on folders of pictures, with real ranks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.entrypoints import horovod_ranks, numbered_pictures
from tests.entrypoints.horovod_ranks import Rank

pytestmark = [pytest.mark.horovod, pytest.mark.usefixtures("warm_ranks")]

SCRIPT = Path(__file__).with_name("logged_training.py")
Steps = list[list[tuple[int, float]]]  # (number, weight) of each picture of each step


def run(folder: Path, arguments: Sequence[str], size: int, **environment: str) -> list[Rank]:
    return horovod_ranks.run(folder, arguments, size=size, script=SCRIPT, environment=environment)


def steps_of(folder: Path, rank: int) -> Steps:
    lines = (folder / f"samples-{rank}.txt").read_text().splitlines()
    pairs = [[word.split(":") for word in line.split()] for line in lines]
    return [[(int(number), float(weight)) for number, weight in line] for line in pairs]


def counted(*ranks: Steps) -> Counter[int]:
    """How often each picture was trained on with a weight above 0."""
    return Counter(n for rank in ranks for step in rank for n, weight in step if weight > 0)


def metrics_in(folder: Path) -> dict[str, Any]:
    metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    return metrics


def test_folders_are_read_with_padding_and_a_share_of_each_class_is_held_out(
    tmp_path: Path,
) -> None:
    folder = numbered_pictures.write_folders(tmp_path / "pictures", 33)
    arguments = [
        *("--data", f"images:{folder}", "--model", "mlp", "--batch-size", "7"),
        *("--remainder", "pad", "--epochs", "6", "--lr", "0.01"),
    ]
    ranks = run(tmp_path, arguments, 2)
    assert [rank.exit_code for rank in ranks] == [0, 0], ranks
    assert "27 training and 6 test images of 12x12; each of 2 ranks reads 14" in ranks[0].stdout
    assert "result: test accuracy 1.0000" in ranks[0].stdout
    steps = [steps_of(tmp_path, rank)[:2] for rank in range(2)]
    assert [[len(step) for step in rank] for rank in steps] == [[7, 7], [7, 7]]
    assert len(counted(*steps)) == 27
    assert set(counted(*steps).values()) == {1}
    weights = [weight for rank in steps for _, weight in rank[1]]
    assert min(weights) == 0.0
    assert np.mean(weights) == pytest.approx(1.0, abs=1e-5)  # written with six digits


def test_parquet_is_read_once_an_epoch_and_a_killed_run_goes_on_at_the_very_sample(
    tmp_path: Path,
) -> None:
    """Two ranks are killed in the middle of an epoch; three go on with what is unread."""
    place = numbered_pictures.write_parquet(tmp_path / "place", 83, 30)
    arguments = [
        *("--data", f"parquet:{place}", "--model", "mlp", "--epochs", "4", "--batch-size", "4"),
        *("--lr", "0.01", "--remainder", "uneven", "--checkpoint-steps", "3"),
        *("--checkpoint-dir", str(tmp_path / "checkpoints"), "--model-dir", str(tmp_path / "m")),
    ]
    killed = run(tmp_path / "killed", arguments, 2, KILL_AFTER="1:8")
    assert killed[1].exit_code == -9
    assert "another rank has ended" in killed[0].stderr, killed[0]
    names = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert names == ["checkpoint-00000-step-0000003.npz", "checkpoint-00000-step-0000006.npz"]

    again = run(tmp_path / "again", arguments, 3)
    assert [rank.exit_code for rank in again] == [0, 0, 0], again
    assert "after epoch 0 and 6 steps; going on at epoch 1/4, step 7" in again[0].stdout
    before = [steps_of(tmp_path / "killed", rank)[:6] for rank in range(2)]
    after = [steps_of(tmp_path / "again", rank) for rank in range(3)]
    # 83 - 2 x 6 x 4 = 35 pictures on 3 ranks are 3 steps; a whole epoch is 7.
    assert [len(rank) for rank in after] == [3 + 3 * 7] * 3
    everything = Counter(range(83))
    assert counted(*before, *(rank[:3] for rank in after)) == everything
    for begin in (3, 10, 17):
        assert counted(*(rank[begin : begin + 7] for rank in after)) == everything
    metrics = metrics_in(tmp_path / "m")
    assert metrics["test_accuracy"] == 1.0
    assert metrics["steps"] == 6 + 3 + 3 * 7


def test_dask_augments_for_two_ranks_and_predictions_are_averaged_over_copies(
    tmp_path: Path,
) -> None:
    """Without --scheduler the host's first rank starts a cluster, which is gone in the end."""
    place = numbered_pictures.write_parquet(tmp_path / "place", 83, 30)
    arguments = ["--data", f"augment:{place}", "--model", "mlp", "--epochs", "3"]
    arguments += ["--batch-size", "4", "--predict-copies", "2", "--model-dir", str(tmp_path / "m")]
    ranks = run(tmp_path / "ranks", arguments, 2)
    assert [rank.exit_code for rank in ranks] == [0, 0], ranks
    assert metrics_in(tmp_path / "m")["test_accuracy"] > 0.9
    assert not any(rank.stderr for rank in ranks)

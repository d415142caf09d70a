"""Loss and accuracy that Keras's scripts tell of an epoch, where ranks have unequally many samples.

The training split is the test split too, and the rate is so small that the model stays as it is:
so its score on the one is the mean over the samples of the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.entrypoints import horovod_ranks
from tests.entrypoints.horovod_ranks import IMAGE_CLASSIFIER as FIT
from tests.entrypoints.lib.mnist_format import write_data_set
from tests.places import ENTRYPOINTS

pytestmark = [pytest.mark.horovod, pytest.mark.usefixtures("warm_ranks")]

LOOP, MIRRORED = ENTRYPOINTS / "train_custom_loop.py", ENTRYPOINTS / "train_mirrored.py"
PRETENDED = Path(__file__).with_name("pretended_rank.py")
SAMPLES, BATCH = 45, 22  # 23 and 22 on two ranks: one sample is a step


def flags(folder: Path, remainder: str) -> list[str]:
    draw = np.random.RandomState(0)
    split = draw.randint(0, 256, (SAMPLES, 8, 8)), draw.randint(0, 3, SAMPLES)
    write_data_set(folder / "data", split, split)
    return [
        *("--data", f"mnist-files:{folder / 'data'}", "--model", "mlp", "--epochs", "2"),
        *("--batch-size", str(BATCH), "--remainder", remainder),
        *("--optimizer", "sgd", "--lr", "1e-9", "--model-dir", str(folder / "model")),
    ]


@pytest.mark.parametrize(
    ("script", "remainder"), [(FIT, "uneven"), (LOOP, "pad")], ids=["fit", "loop"]
)
def test_two_ranks_tell_the_mean_over_their_samples_and_how_many_those_are_and_draw_apart(
    script: Path, remainder: str, tmp_path: Path
) -> None:
    """Each rank for itself: how the two are averaged is ``lib/test_run``'s."""
    epochs, scores, drawn = [], [], set()
    for number in range(2):
        words = [str(number), "2", str(script), *flags(tmp_path, remainder)]
        (rank,) = horovod_ranks.run(tmp_path / str(number), words, size=1, script=PRETENDED)
        assert rank.exit_code == 0, rank
        epochs.append([[float(one) for one in line.split()[1:]] for line in rank.lines("told: ")])
        scores.append([float(one) for one in rank.lines("score: ")[0].split()[1:]])
        drawn.update(rank.lines("drawn: "))
    shares = [23, 22]
    assert [[samples for samples, *_ in rank] for rank in epochs] == [[23, 23], [22, 22]]
    expected = np.average(scores, axis=0, weights=shares)  # of the test split both have as many
    for told in zip(*epochs, strict=True):
        means = np.average([one[1:] for one in told], axis=0, weights=shares)
        assert means == pytest.approx(expected, rel=1e-5)
    assert len(drawn) == 2, "what layers draw differs from rank to rank"


def test_two_replicas_of_one_process_have_the_mean_over_their_samples(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(MIRRORED), *flags(tmp_path, "uneven")],
        env={**horovod_ranks.clean_environment(), "LAUNCH_CPU_DEVICES": "2"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=horovod_ranks.SECONDS,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "model" / "metrics.json").read_text())
    assert found["world_size"] == 2
    for epoch in found["history"]:
        assert epoch["loss"] == pytest.approx(found["test_loss"], rel=1e-5)
        assert epoch["accuracy"] == pytest.approx(found["test_accuracy"], rel=1e-5)

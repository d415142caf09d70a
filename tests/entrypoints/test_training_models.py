"""First weights, freezing, augmentation and precision of the shared script, on real ranks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.entrypoints import horovod_ranks

pytestmark = [pytest.mark.horovod, pytest.mark.usefixtures("warm_ranks")]

ENTRYPOINTS = {"PYTHONPATH": str(horovod_ranks.IMAGE_CLASSIFIER.parent), "TF_USE_LEGACY_KERAS": "1"}
# Saves a model of 4 classes, or tells what became of its body and of the exported model.
MODELS = """
import json, sys
import numpy as np, tensorflow as tf
from lib.tensorflow import models
if len(sys.argv) == 2:
    models.build("mlp", (8, 8, 1), classes=4, brightest=16).save(sys.argv[1])
else:
    before, after = (tf.keras.models.load_model(path) for path in sys.argv[1:])
    same = [bool(np.array_equal(a, b)) for a, b in zip(before.get_weights(), after.get_weights())]
    print(json.dumps([same[:2], [type(layer).__name__ for layer in after.layers]]))
"""
# One step that overflows on rank 1 alone, then one that does not.
OVERFLOW = """
import sys
from lib.tensorflow import stack
stack.import_quietly()
import horovod.tensorflow.keras as hvd
import numpy as np, tensorflow as tf
from lib.arguments import parse
from lib.tensorflow import models
from lib.tensorflow.models import precision, start
from lib.tensorflow.ranks import HorovodRanks

class Data:
    shape, classes, brightest = (4, 4, 1), 3, 16

ranks = HorovodRanks()
# This machine's CPU stands for a GPU that computes in float16.
precision.gpus_here = lambda: [precision.Gpu("stand-in", (7, 0))]
tf.random.set_seed(1)
model = models.build_for(parse(["--model", "mlp", "--precision", "float16"]), Data(), ranks)
optimizer = models.with_loss_scale(hvd.DistributedOptimizer(models.optimizer("sgd", 0.1)), model)
model.compile(optimizer, "sparse_categorical_crossentropy")
models.create_optimizer_state(model.optimizer, model.trainable_variables)
variables = [*model.weights, *models.optimizer_variables(model.optimizer)]
ranks.same_variables(variables)
before = [weight.numpy() for weight in model.weights]
pixels = np.full((2, 4, 4, 1), 8.0, np.float32)
for step, brightness in enumerate((1e6 if ranks.rank == 1 else 1.0, 1.0)):
    model.train_on_batch(pixels * brightness, np.array([0, 1]))
    moved = max(float(np.abs(a - b.numpy()).max()) for a, b in zip(before, model.weights))
    scale = float(models.optimizer_variables(model.optimizer)[-2].numpy())
    assert np.isfinite(moved)
    found = ranks.gather((moved, scale))
    assert found[0] == found[1], found
    if ranks.first:
        print("step:", step, moved > 0, scale, flush=True)
"""


def test_ranks_start_from_one_file_and_the_export_has_its_frozen_body_and_no_augmentation(
    tmp_path: Path,
) -> None:
    start = tmp_path / "start.keras"
    script = tmp_path / "models.py"
    script.write_text(MODELS)

    def models(*paths: Path) -> str:
        words = list(map(str, paths))
        (done,) = horovod_ranks.run(
            tmp_path / "models", words, size=1, script=script, environment=ENTRYPOINTS
        )
        assert done.exit_code == 0, done
        return done.stdout

    models(start)
    given = f"--model mlp --weights {start} --freeze body --dropout 0.2 --augment flip,zoom"
    ranks = horovod_ranks.run(
        tmp_path,
        [
            *given.split(),
            *["--precision", "bfloat16", "--epochs", "2", "--max-steps-per-epoch", "3"],
            *("--model-dir", str(tmp_path / "model"), "--checkpoint-dir", str(tmp_path / "kept")),
        ],
    )
    assert [rank.exit_code for rank in ranks] == [0, 0], ranks
    assert [rank.stderr for rank in ranks] == ["", ""]
    assert ranks[0].lines("weights: ") == [
        f"weights: mlp from {start}, a fresh head of 10 classes, in place of 4"
    ]
    assert ranks[0].lines("precision: ") == [
        "precision: layers compute in bfloat16, weights are float32"
    ]
    same, layers = json.loads(models(start, tmp_path / "model" / "model.keras"))
    assert same == [True, True]
    assert [name for name in layers if name != "InputLayer"] == [
        *("Rescaling", "Flatten", "Dense", "Dropout", "Dense"),
    ]
    with np.load(tmp_path / "kept" / "checkpoint-00002.npz") as kept:
        assert {kept[name].dtype.name for name in kept if "weight" in name} == {"float32"}


def test_an_overflow_on_one_rank_is_left_out_on_all_and_halves_the_loss_scale(
    tmp_path: Path,
) -> None:
    script = tmp_path / "overflow.py"
    script.write_text(OVERFLOW)
    ranks = horovod_ranks.run(tmp_path, script=script, environment=ENTRYPOINTS)
    assert [rank.exit_code for rank in ranks] == [0, 0], ranks
    assert ranks[0].lines("step: ") == ["step: 0 False 16384.0", "step: 1 True 16384.0"]


def test_weights_that_are_not_there_are_told_once_before_training(tmp_path: Path) -> None:
    ranks = horovod_ranks.run(tmp_path, ["--weights", "gone.h5", "--epochs", "1"])
    assert [rank.exit_code for rank in ranks] == [1, 1]
    assert ranks[1].stderr == ""
    assert "error: --weights gone.h5: cannot be read: No such file" in ranks[0].stderr
    assert ranks[0].stderr.count("\n") == 1
    assert ranks[0].lines("progress: ") == []

"""Trains an image classifier with Keras on all GPUs of one machine, in one process.

    python train_mirrored.py                                  the GPUs that it sees, else the CPU
    launch local train_mirrored.py --gpus 2                   two of them
    LAUNCH_CPU_DEVICES=2 python train_mirrored.py             two parts of the CPU instead, to try

MirroredStrategy puts a replica of the model on each GPU; they average their gradients at every
step. It has the flags of train_image_classifier.py, and a replica counts as a rank: --batch-size is
one replica's, and the samples and their order are those of as many ranks. ``--help`` lists the
options.
"""

from __future__ import annotations

import os
import sys
from typing import Sequence

from lib import limits, script
from lib.arguments import Settings


def train(settings: Settings) -> None:
    """Trains, evaluates and writes the model."""
    from lib.tensorflow import quiet

    limits.check(settings, limits.ONE_EXCHANGE)
    quiet.import_tensorflow()
    # Only now: these import TensorFlow, which reads its settings then.
    import tensorflow as tf
    from lib.run import Run
    from lib.tensorflow import fit, mirrored, models
    from lib.tensorflow.export import export

    strategy = tf.distribute.MirroredStrategy(mirrored.devices(os.environ))
    replicas = mirrored.Replicas(strategy)
    with Run(settings, replicas, gpus=len(tf.config.list_physical_devices("GPU"))) as run:
        tf.random.set_seed(settings.seed)
        with strategy.scope():
            model = models.build_for(settings, run.data, replicas)
            optimizer = models.optimizer(settings.optimizer, settings.learning_rate)
            model.compile(optimizer, fit.LOSS, **fit.compiled_with(settings.remainder))
            mirrored.create_optimizer_state(strategy, model)
        run.restore(mirrored.MirroredLearner(model))
        for stretch in run.stretches():
            model.fit(
                mirrored.distributed(strategy, stretch.batches()),
                initial_epoch=stretch.epochs.start,
                epochs=stretch.epochs.stop,
                steps_per_epoch=stretch.steps,
                callbacks=[fit.InStep(run)],
                verbose=0,
            )
        run.finish(lambda folder: export(models.portable(model, settings), folder))


def main(argv: Sequence[str] | None = None) -> int:
    """The process's exit code: 0, or 1 after one line that says what stopped the training."""
    return script.run(train, argv)


if __name__ == "__main__":
    sys.exit(main())

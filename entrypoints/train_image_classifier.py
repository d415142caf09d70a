"""Trains an image classifier with Keras and Horovod, on one process or on many.

    python train_image_classifier.py                          one process
    horovodrun -np 2 python train_image_classifier.py         two on this machine
    launch local --instances 2 --processes 1 -- --epochs 3    through the launcher

Each rank reads its own share of every epoch and averages its gradients with the others'. Rank 0
writes a checkpoint after each epoch and the model at the end; a start that finds a checkpoint goes
on after it. ``--help`` lists the options, and the environment that names folders.
"""

from __future__ import annotations

import sys
from typing import Sequence

from lib import script
from lib.arguments import Settings


def train(settings: Settings) -> None:
    """Trains, evaluates and writes the model, in step with all ranks."""
    from lib.tensorflow import stack

    stack.import_quietly()
    # Only now: these import TensorFlow and Horovod, which read their settings then.
    import tensorflow as tf
    from lib.run import Run
    from lib.tensorflow import fit, models, sync
    from lib.tensorflow.export import export
    from lib.tensorflow.learner import KerasLearner
    from lib.tensorflow.ranks import HorovodRanks

    stack.prepare_exchange(settings.model)
    ranks = HorovodRanks()
    sync.check(settings, ranks)
    with Run(settings, ranks, gpus=stack.prepare_devices(ranks)) as run:
        tf.random.set_seed(settings.seed)
        model = models.build_for(settings, run.data, ranks)
        optimizer = models.optimizer(settings.optimizer, settings.learning_rate)
        # hvd.DistributedOptimizer: a step averages the gradients of all ranks (float16 ones while
        # they are scaled). With --sync average it stays as it is; the run averages parameters.
        distributed = ranks.together(lambda: sync.distributed(optimizer, settings))
        passes = settings.backward_passes
        optimizer = ranks.together(lambda: models.with_loss_scale(distributed, model, passes))
        model.compile(optimizer, fit.LOSS, **fit.compiled_with(settings.remainder))
        models.create_optimizer_state(model.optimizer, model.trainable_variables)
        run.restore(KerasLearner(model, model.optimizer, ranks, settings))
        models.draw_apart(settings.seed, ranks.rank)  # from now on: dropout
        for stretch in run.stretches():
            model.fit(
                stretch.batches(),
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

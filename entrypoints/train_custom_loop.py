"""Trains the image classifier of train_image_classifier.py by a loop of its own.

    python train_custom_loop.py                                                    one process
    horovodrun -np 2 python train_custom_loop.py                                   two here
    launch local train_custom_loop.py --instances 2 --processes 1 -- --epochs 3    by the launcher

Flags, output and checkpoints are the same, and so is the loss for a seed: what differs is that the
steps are written out, with tf.GradientTape and Horovod's DistributedGradientTape in a tf.function.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Sequence

from lib import script
from lib.arguments import Settings


def train(settings: Settings) -> None:
    """Trains, evaluates and writes the model, in step with all ranks."""
    from lib.tensorflow import stack

    stack.import_quietly()
    # Only now: these import TensorFlow and Horovod, which read their settings then.
    import tensorflow as tf
    from lib.run import Run
    from lib.tensorflow import measures, models, sync
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
        optimizer = models.with_loss_scale(optimizer, model)  # for --precision float16
        models.create_optimizer_state(optimizer, model.trainable_variables)
        run.restore(KerasLearner(model, optimizer, ranks, settings))
        models.draw_apart(settings.seed, ranks.rank)  # from now on: dropout

        steps = sync.Steps(optimizer, model.trainable_variables, run.settings)
        loss_of = tf.keras.losses.SparseCategoricalCrossentropy()
        measured = measures.of_epoch()  # loss and accuracy, and over how many samples

        @tf.function  # type: ignore[untyped-decorator]
        def step(images: Any, labels: Any, weights: Any = None) -> Any:
            with tf.GradientTape() as tape:
                answers = model(images, training=True)
                loss = loss_of(labels, answers, sample_weight=weights)
                scaled_loss = models.scaled_loss(optimizer, loss)
            # hvd.DistributedGradientTape, whose gradients are the mean over all ranks: so each of
            # them takes the same step. With --sync average a rank's steps are its own.
            gradients = steps.tape(tape).gradient(scaled_loss, model.trainable_variables)
            steps.take(models.unscaled(optimizer, gradients))
            for measure in measured:
                measure.update_state(labels, answers, weights)
            return loss

        for stretch in run.stretches():
            batches = iter(stretch.batches())
            for epoch in stretch.epochs:
                run.epoch_begins(epoch)
                for _ in range(stretch.steps):
                    optimizer.learning_rate.assign(run.rate)
                    loss = step(*next(batches))
                    run.step_ended(functools.partial(float, loss))
                run.epoch_ended(*(float(measure.result()) for measure in measured))
                for measure in measured:
                    measure.reset_state()
        run.finish(lambda folder: export(models.portable(model, settings), folder))


def main(argv: Sequence[str] | None = None) -> int:
    """The process's exit code: 0, or 1 after one line that says what stopped the training."""
    return script.run(train, argv)


if __name__ == "__main__":
    sys.exit(main())

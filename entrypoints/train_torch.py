"""Trains an image classifier with PyTorch, on one process or on many.

    python train_torch.py                                      one process
    torchrun --nproc_per_node 2 train_torch.py                 two on this machine
    launch local train_torch.py --instances 2 -- --epochs 3    through the launcher
    launch local train_torch.py --instances 2 --strategy horovod

Its ranks average their gradients by DistributedDataParallel, or by Horovod where that has started
them; with --sync average their parameters. It has the flags of train_image_classifier.py, reads
the same samples in the same order, and writes checkpoints, metrics.json and model.pt. ``--help``
lists the options.
"""

from __future__ import annotations

import sys
from typing import Sequence

from lib import limits, script
from lib.arguments import Settings


def train(settings: Settings) -> None:
    """Trains, evaluates and writes the model, in step with all ranks."""
    from lib.pytorch import stack

    limits.check(settings, limits.PLAIN_MODELS)
    stack.import_torch()
    # Only now: these import PyTorch, which may be missing.
    import torch
    from lib.pytorch import loop, models, precision, sync
    from lib.pytorch.export import export
    from lib.pytorch.joining import joined
    from lib.pytorch.learner import TorchLearner
    from lib.run import Run
    from torch.nn.functional import cross_entropy

    ranks = joined()  # torch.distributed's or Horovod's
    sync.check(settings, ranks)
    device = stack.prepare_device(ranks)
    with Run(settings, ranks, gpus=int(device.type == "cuda"), arrays=True) as run:
        torch.manual_seed(settings.seed)
        model = models.build_for(settings, run.data, ranks).to(device)
        optimizer = models.optimizer(settings.optimizer, model.parameters(), settings.learning_rate)
        # A step averages the gradients of all ranks: in hvd.DistributedOptimizer, or by training
        # through DistributedDataParallel. With --sync average both stay away; the run averages
        # parameters.
        optimizer = sync.distributed(optimizer, model, settings, ranks)
        models.create_optimizer_state(optimizer)
        computing = precision.chosen(settings, ranks, device)
        apart = sync.step_apart(settings)
        run.restore(TorchLearner(model, optimizer, ranks, computing, apart))
        models.draw_apart(settings.seed, ranks.rank)  # from now on: dropout
        trained = sync.wrapped(model, settings, ranks)
        steps = sync.Steps(trained, optimizer, computing, settings.backward_passes)
        for stretch in run.stretches():
            for batches in loop.epochs(run, stretch, model, device):
                means = loop.Means()
                for pixels, labels, weights in batches:
                    loop.set_rate(optimizer, run.rate)
                    with steps.one_pass():
                        with computing:
                            logits = trained(pixels)
                            losses = cross_entropy(logits, labels, reduction="none")
                            loss = (losses * weights).mean()
                        steps.backward(loss)
                    means.add(losses, logits, labels, weights)
                    run.step_ended(loss.item)
                run.epoch_ended(*means.values())
        run.finish(lambda folder: export(model, run.data.shape, folder))


def main(argv: Sequence[str] | None = None) -> int:
    """The process's exit code: 0, or 1 after one line that says what stopped the training."""
    return script.run(train, argv)


if __name__ == "__main__":
    sys.exit(main())

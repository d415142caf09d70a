"""Trains an image classifier with PyTorch Lightning's Trainer, on one process or on many.

    python train_lightning.py                                      one process
    torchrun --nproc_per_node 2 train_lightning.py                 two on this machine
    launch local train_lightning.py --instances 2 -- --epochs 3    through the launcher

It has the flags, samples, checkpoints and output of train_torch.py, and for a seed the same loss:
what differs is that Trainer takes the steps. ``--help`` lists the options.
"""

from __future__ import annotations

import sys
from typing import Any, Sequence

from lib import limits, script
from lib.arguments import Settings


def train(settings: Settings) -> None:
    """Trains, evaluates and writes the model, in step with all ranks."""
    from lib.pytorch import stack

    limits.check(settings, limits.ONE_EXCHANGE, instead="train_torch.py")
    limits.check(settings, limits.PLAIN_MODELS)
    stack.import_torch()
    stack.import_lightning()
    # Only now: these import PyTorch and Lightning, which may be missing.
    import lightning.pytorch as pl
    import torch
    from lib.pytorch import models, precision
    from lib.pytorch.export import export
    from lib.pytorch.learner import TorchLearner
    from lib.pytorch.lightning import Epochs, InStep, joined, plugins
    from lib.run import Run

    class Classifier(pl.LightningModule):
        """What Trainer trains: the model, its loss and its optimizer."""

        def __init__(self, model: Any, optimizer: Any):
            super().__init__()
            self.model, self.optimizer = model, optimizer

        def training_step(self, batch: Any, index: int) -> Any:
            pixels, labels, weights = batch
            logits = self.model(pixels)
            losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
            loss = (losses * weights).mean()
            return {"loss": loss, "losses": losses.detach(), "logits": logits.detach()}

        def configure_optimizers(self) -> Any:
            return self.optimizer

    ranks = joined()  # before there is a Trainer, which then uses their process group
    device = stack.prepare_device(ranks)
    with Run(settings, ranks, gpus=int(device.type == "cuda"), arrays=True) as run:
        torch.manual_seed(settings.seed)
        model = models.build_for(settings, run.data, ranks).to(device)
        optimizer = models.optimizer(settings.optimizer, model.parameters(), settings.learning_rate)
        models.create_optimizer_state(optimizer)
        computing = precision.chosen(settings, ranks, device)
        run.restore(TorchLearner(model, optimizer, ranks, computing))
        models.draw_apart(settings.seed, ranks.rank)  # from now on: dropout
        trainer = pl.Trainer(
            # As many processes as there are: with fewer each host, or each rank, trains alone.
            strategy="ddp" if torch.distributed.is_initialized() else "auto",
            accelerator="gpu" if device.type == "cuda" else "cpu",
            devices=ranks.on_this_host,
            num_nodes=ranks.size // ranks.on_this_host,
            max_epochs=run.epochs_left,
            num_sanity_val_steps=0,
            plugins=plugins(computing, device),
            # Lines, rates, validation, checkpoints and tracking are the run's.
            callbacks=[InStep(run)],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        if run.epochs_left:
            trainer.fit(Classifier(model, optimizer), datamodule=Epochs(run, model, device))
            model.to(device)  # Trainer leaves it on the CPU
        run.finish(lambda folder: export(model, run.data.shape, folder))


def main(argv: Sequence[str] | None = None) -> int:
    """The process's exit code: 0, or 1 after one line that says what stopped the training."""
    return script.run(train, argv)


if __name__ == "__main__":
    sys.exit(main())

"""How ranks keep one model: what --sync, --backward-passes and --divide ask for. Pure."""

from __future__ import annotations

import argparse
import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import TrainingError

if TYPE_CHECKING:
    from .arguments import Settings

ALLREDUCE, ADASUM, AVERAGE = "allreduce", "adasum", "average"
EPOCH = "epoch"
FORMS = f"{ALLREDUCE}, {ADASUM}, {AVERAGE}:K (steps) or {AVERAGE}:{EPOCH}"
NONE, FP16 = "none", "fp16"
COMPRESSIONS = (NONE, FP16)
SAMPLES, EPOCHS = "samples", "epochs"
DIVIDED = (SAMPLES, EPOCHS)
# The first Horovod whose optimizer for Keras exchanges what several passes have added up; earlier
# ones take the step before that (horovod/tensorflow/gradient_aggregation_eager.py of 0.24.3).
_EXCHANGES_PASSES = (0, 25)
_RANK_SEEDS = 7919  # apart; a prime, so that the next seed's ranks have other orders


@dataclass(frozen=True)
class Sync:
    """What goes from rank to rank, and when.

    Attributes:
        kind: ``allreduce`` and ``adasum`` exchange gradients at every step; with ``average`` each
            rank trains alone, and parameters and optimizer state become the mean of all ranks'.
        steps: Of ``average``: after every so many steps of an epoch, and at its end; 0 for its end
            alone.
    """

    kind: str = ALLREDUCE
    steps: int = 0

    @property
    def averages(self) -> bool:
        """Whether parameters are exchanged, and no gradients."""
        return self.kind == AVERAGE

    def is_due(self, step: int) -> bool:
        """Whether parameters are averaged after this step of an epoch (the first is 1)."""
        return self.steps > 0 and step % self.steps == 0

    def __str__(self) -> str:
        """As on the command line."""
        return f"{self.kind}:{self.steps or EPOCH}" if self.averages else self.kind


def parse(text: str) -> Sync:
    """The words of --sync.

    Raises:
        argparse.ArgumentTypeError: They are none.
    """
    kind, colon, behind = text.partition(":")
    if kind in (ALLREDUCE, ADASUM) and not colon:
        return Sync(kind)
    if kind == AVERAGE and behind == EPOCH:
        return Sync(kind)
    if kind == AVERAGE and behind.isascii() and behind.isdigit() and int(behind) > 0:
        return Sync(kind, int(behind))
    raise argparse.ArgumentTypeError(f"{text!r}: expected {FORMS}")


def problem(settings: Settings) -> str | None:
    """What the flags about the exchange have against each other and against others."""
    sync, passes, every = settings.sync, settings.backward_passes, settings.checkpoint_steps
    if sync.averages and settings.compression != NONE:
        return (
            f"argument --compression: --sync {sync} exchanges parameters, which keep all their "
            "digits; leave --compression out, or take --sync allreduce"
        )
    if sync.kind != ALLREDUCE and passes > 1:
        why = (
            "exchanges no gradients; take a larger K, or --sync allreduce"
            if sync.averages
            else "takes the gradients of one pass; take a larger --batch-size, or --sync allreduce"
        )
        return f"argument --backward-passes: --sync {sync} {why}"
    if every is not None and every % passes:
        return (
            f"argument --checkpoint-steps: {every} is no multiple of --backward-passes {passes}, "
            f"and a checkpoint holds no half-made step; take {passes * (every // passes + 1)}"
        )
    return None


def check_passes(settings: Settings, horovod: str) -> None:
    """Passes where the optimizer for Keras of this Horovod can do ``--backward-passes``.

    Raises:
        TrainingError: It would step by each rank's own gradients.
    """
    found = tuple(map(int, re.findall(r"\d+", horovod)[:2]))
    if settings.backward_passes > 1 and found < _EXCHANGES_PASSES:
        raise TrainingError(
            f"--backward-passes {settings.backward_passes}: Horovod {horovod} would step by each "
            "rank's own gradients; expected 0.25 or newer. Take train_custom_loop.py, which adds "
            "them up itself, or a larger --batch-size."
        )


def against_adasum(has_mpi: bool, ranks: int) -> str:
    """Why Horovod's ranks cannot use Adasum, with what to do, or "".

    They have to speak by MPI and be a power of two (horovod/tensorflow/__init__.py and
    horovod/torch/mpi_ops.py of 0.28.1).
    """
    if not has_mpi:
        return (
            "these ranks speak by Gloo, and Horovod has Adasum for MPI alone. Start them by "
            "mpirun, as SageMaker does, with a Horovod that was built with MPI; or use --sync "
            "allreduce."
        )
    if ranks & (ranks - 1):
        return (
            f"there are {ranks} ranks; expected 2, 4, 8 or another power of two. Use as many, or "
            "--sync allreduce."
        )
    return ""


def of_ranks(settings: Settings, ranks: int) -> Settings:
    """The settings of each of so many ranks: with ``--divide epochs`` it trains its share of them.

    Raises:
        TrainingError: The epochs do not divide.
    """
    if settings.divide != EPOCHS:
        return settings
    epochs, rest = divmod(settings.epochs, ranks)
    if rest or not epochs:
        above = ranks * (epochs + 1)
        near = f"{above - ranks} or {above}" if epochs else str(above)
        raise TrainingError(
            f"--divide epochs: {settings.epochs} epochs do not divide over {ranks} ranks; expected "
            f"a multiple of {ranks}. Use --epochs {near}, or --divide samples."
        )
    return dataclasses.replace(
        settings, epochs=epochs, warmup_epochs=min(settings.warmup_epochs, epochs - 1)
    )


def warm_up_told(given: Settings, settings: Settings, ranks: int) -> str | None:
    """A line for people where ``of_ranks`` has made of ``given`` a shorter warm-up."""
    epochs, least = settings.epochs, settings.warmup_epochs
    if least == given.warmup_epochs:
        return None
    return (
        f"warm-up: {least} of the {epochs} epochs of each of {ranks} ranks, in place of "
        f"{given.warmup_epochs} (--divide epochs)"
    )


def seed_of(settings: Settings, rank: int) -> int:
    """The seed of a rank's order of samples; with ``--divide epochs`` each has its own."""
    if settings.divide != EPOCHS:
        return settings.seed
    return (settings.seed + _RANK_SEEDS * rank) % 2**32


def drawing_seed(seed: int, rank: int) -> int:
    """The seed of what a rank draws in training, such as dropout: each has its own, and none that
    weights were drawn by."""
    return seed + _RANK_SEEDS * (rank + 1)


def readers(settings: Settings, ranks: int) -> int:
    """Ranks among which an epoch's samples are divided."""
    return 1 if settings.divide == EPOCHS else ranks


def whole_steps(settings: Settings, steps: int) -> int:
    """Steps of an epoch, or of its rest, that make whole optimizer steps; the others are left."""
    return steps - steps % settings.backward_passes

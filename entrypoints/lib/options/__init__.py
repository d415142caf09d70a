"""The options of the image classifier: a module a subject, with what each value may be."""

from __future__ import annotations

import argparse

from . import augmentation, data, exchange, output, tracking, training

EPILOG = """\
Checkpoints go to --checkpoint-dir, LAUNCH_CHECKPOINT_DIR or AIP_CHECKPOINT_DIR;
the model and metrics.json to --model-dir, SM_MODEL_DIR, AIP_MODEL_DIR or
LAUNCH_MODEL_DIR. A start that finds a checkpoint goes on after it.
A FOLDER or PLACE that is left out is --data-dir, else the input channel
(SM_CHANNEL_TRAINING, SM_CHANNEL_TRAIN, another SM_CHANNEL_*)."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds every option to ``parser``."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "Trains an image classifier on any number of ranks."
    parser.epilog = EPILOG
    for subject in (data, augmentation, training, exchange, output, tracking):
        subject.add_to(parser)

"""The options of models: which, with what first weights, what is trained, how they compute."""

from __future__ import annotations

import argparse
import math
from typing import Any

MODELS = ("mlp", "cnn", "resnet50", "efficientnetb0")
PUBLISHED = ("resnet50", "efficientnetb0")  # there are ImageNet weights of these
NO_WEIGHTS, DOWNLOADED = "none", "imagenet"
NOT_FROZEN, BODY = "none", "body"
PRECISIONS = ("float32", "bfloat16", "float16", "auto")


def add_to(group: Any, model_help: str) -> None:
    """Adds these options to an argument group; ``model_help`` is that of --model."""
    group.add_argument("--model", choices=MODELS, help=model_help)
    group.add_argument(
        "--weights",
        default=NO_WEIGHTS,
        metavar="none|imagenet|FILE",
        help="first weights: fresh ones, the framework's download, or a file of Keras (.h5, "
        ".keras) or PyTorch (a state_dict), whose head is replaced where it has other classes "
        "(default none)",
    )
    group.add_argument(
        "--freeze",
        type=_frozen,
        default=NOT_FROZEN,
        metavar="none|body|N",
        help="layers that stay as --weights has them: all before the head, or the first N "
        "(default none)",
    )
    group.add_argument(
        "--dropout",
        type=_share,
        default=0.0,
        metavar="P",
        help="share of what goes into the head that is dropped in training (default 0)",
    )
    group.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="in which layers compute, where the GPU is made for it; auto takes the best that all "
        "ranks' GPUs are made for (default float32)",
    )


def problem(given: Any, model: str) -> str | None:
    """What these options have against each other, in a line; ``model`` with its default."""
    if not given.weights:
        return "argument --weights: '': expected none, imagenet or a file"
    if given.weights == DOWNLOADED and model not in PUBLISHED:
        return (
            f"argument --weights: there are no ImageNet weights of --model {model}; take "
            f"{' or '.join(PUBLISHED)}, or give a file"
        )
    if given.freeze != NOT_FROZEN and given.weights == NO_WEIGHTS:
        return (
            f"argument --freeze: {given.freeze}, but the weights are fresh, and layers that stay "
            "so have learnt nothing; add --weights"
        )
    return None


def _frozen(text: str) -> str | int:
    if text in (NOT_FROZEN, BODY):
        return text
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected none, body or a number of layers, at least 1"
        )
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 0 to below 1")
    return value

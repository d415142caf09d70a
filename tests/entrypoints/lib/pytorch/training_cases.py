"""train_torch.py on one rank of two with nobody else, on a real PyTorch: DATA is MNIST's files.

The rate is so small that the model stays as it is: so its loss on all samples is known. Prints what
came of each case.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import torch
import train_torch
from lib.data.mnist_files import find, read_split
from lib.pytorch import joining, models
from lib.pytorch.ranks import TorchRanks

DATA, SIZE, BATCH = sys.argv[1], 2, 22


class PretendedRanks(TorchRanks):
    """What it hears of the others is what it says itself."""

    def __init__(self, rank: int, told: list[Any]) -> None:
        super().__init__(rank, SIZE, 0, 1)
        self._told = told

    def gather(self, value: Any) -> list[Any]:
        return [value] * SIZE

    def from_first(self, value: Any) -> Any:
        return value

    def average(self, values: Mapping[str, float], weight: float) -> dict[str, float]:
        self._told.append([weight, values["loss"], values["accuracy"]])
        return dict(values)

    def same_tensors(self, tensors: Any) -> None: ...

    def mean(self, tensor: Any) -> Any:
        return tensor


built: list[Any] = []  # the models of all runs
masks: list[Any] = []  # of dropout, of all steps
build_for = models.build_for
models.build_for = lambda *given: built.append(build_for(*given)) or built[-1]


def trained(rank: int, *more: str) -> list[Any]:
    """What one rank tells of its two epochs: samples, loss and accuracy."""
    told: list[Any] = []
    joining.joined = lambda: PretendedRanks(rank, told)
    words = ["--data", f"mnist-files:{DATA}", "--model", "mlp", "--batch-size", str(BATCH)]
    rate = ["--optimizer", "sgd", "--lr", "1e-9", "--epochs", "2"]
    assert train_torch.main([*words, *rate, *more]) == 0
    return told


def all_samples() -> list[float]:
    """Loss and accuracy of the newest model on all samples."""
    files = find(DATA)
    images, labels = read_split(files["train-images"], files["train-labels"])
    classes = torch.from_numpy(labels).long()
    logits = built[-1](torch.from_numpy(images).permute(0, 3, 1, 2))
    loss = torch.nn.functional.cross_entropy(logits, classes)
    return [float(loss), float((logits.argmax(dim=1) == classes).float().mean())]


def first_mask(rank: int, *more: str) -> Any:
    """What dropout lets through in a rank's first step, and the weights that it begins with."""
    masks.clear()
    dropout = torch.nn.functional.dropout

    def noted(values: Any, share: float, training: bool, in_place: bool) -> Any:
        found = dropout(torch.ones_like(values), share, training)
        masks.extend([found] * training)
        return values * found

    torch.nn.functional.dropout = noted
    try:
        trained(rank, "--dropout", "0.5", *more)
    finally:
        torch.nn.functional.dropout = dropout
    return masks[0], next(built[-1].parameters()).detach()


cases: dict[str, Any] = {}
for remainder in ("uneven", "pad"):
    cases[remainder] = [trained(rank, "--remainder", remainder) for rank in range(SIZE)]
cases["all"] = all_samples()
(first, weights), (second, others), (again, _), (other, _) = (
    first_mask(0), first_mask(1), first_mask(0), first_mask(0, "--seed", "2")
)  # fmt: skip
cases["masks are equal"] = {
    "of two ranks": torch.equal(first, second),
    "of two runs": torch.equal(first, again),
    "of two seeds": torch.equal(first, other),
}
cases["weights are equal"] = torch.allclose(weights, others)
print(json.dumps(cases))

"""train_torch.py's ways to keep one model, on a real rank of two: DATA is MNIST's files.

All trainings share one process group, and PyTorch is imported once. Prints what came of each case.
"""

from __future__ import annotations

import functools
import json
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import train_torch
from lib.arguments import parse
from lib.pytorch import joining, models, precision, sync
from lib.pytorch.distributed_ranks import DistributedRanks
from lib.pytorch.freezing import Network
from lib.pytorch.learner import TorchLearner
from torch import nn
from torch.nn.parallel import DistributedDataParallel

DATA = sys.argv[1]
ranks = DistributedRanks()
ranks.leave = lambda: None  # type: ignore[method-assign]
joining.joined = lambda: ranks

built: list[Any] = []  # the models of all runs
averaged: list[int] = []  # tensors of each average
exchanged = [0]  # backward passes by which DistributedDataParallel has reduced
build_for, average, forward = (
    models.build_for, ranks.average_in_place, DistributedDataParallel.forward
)  # fmt: skip
models.build_for = lambda *given: built.append(build_for(*given)) or built[-1]


def counted_average(tensors: Any) -> None:
    averaged.append(len(tensors))
    average(tensors)


def counted_forward(model: Any, *given: Any) -> Any:
    exchanged[0] += model.require_backward_grad_sync
    return forward(model, *given)


ranks.average_in_place = counted_average  # type: ignore[method-assign]
DistributedDataParallel.forward = counted_forward


def trained(*more: str) -> dict[str, Any]:
    """The weights that a run leaves, by rank, and what it has exchanged."""
    averaged.clear()
    exchanged[0] = 0
    words = ["--data", f"mnist-files:{DATA}", "--model", "mlp", "--epochs", "2"]
    assert train_torch.main([*words, *more]) == 0
    own = torch.cat([one.reshape(-1) for one in built[-1].state_dict().values()]).tolist()
    return {"ranks": ranks.gather(own), "averaged": list(averaged), "exchanged": exchanged[0]}


class Scaler:
    """The state of PyTorch's, which has one on a GPU alone."""

    def __init__(self, scale: float, steps: int):
        self.state = {"scale": scale, "_growth_tracker": steps}

    def state_dict(self) -> dict[str, float]:
        return dict(self.state)

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.state = state


def settled() -> bool:
    """Whether all that a rank has of its own becomes the mean: Adam's count of steps and the loss
    scale too."""
    model = Network(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3))
    optimizer = models.optimizer("adam", model.parameters(), 0.1)
    models.create_optimizer_state(optimizer)
    computing = precision.Precision("float32", torch.device("cpu"))
    computing.scaler = scaler = Scaler(1024.0 * (1 + ranks.rank), 4 * ranks.rank)
    learner = TorchLearner(model, optimizer, ranks, computing, apart=True)
    model.lay_channels_last()
    torch.manual_seed(ranks.rank)
    tensors = [*model.state_dict().values(), *models.optimizer_tensors(optimizer)]
    floats = [one for one in tensors if one.is_floating_point()]
    for one in floats:
        one.copy_(torch.rand(one.shape))
    of_ranks = zip(*ranks.gather([*map(torch.clone, floats)]), strict=True)
    means = [sum(values) / ranks.size for values in of_ranks]
    learner.settle()
    assert scaler.state == {"scale": 1536.0, "_growth_tracker": 2}
    return len(floats) == 18 and all(map(torch.allclose, floats, means))


def resumed(*more: str) -> list[dict[str, Any]]:
    """A run, and one from its checkpoint after 4 steps, where it was killed."""
    folder = Path(more[-2].strip("-"))
    words = ["--checkpoint-dir", str(folder), "--checkpoint-steps", "4", "--keep-checkpoints", "99"]
    whole = trained(*words, *more)
    if ranks.first:
        first, *later = sorted(folder.glob("checkpoint-*.npz"))
        assert "step-0000004" in first.name, first
        for one in later:
            one.unlink()
    ranks.gather(None)
    return [whole, trained(*words, *more)]


def held() -> list[bool]:
    """For each tensor that an operation was given: whether somebody besides Gloo holds it after."""
    given: list[weakref.ref[torch.Tensor]] = []

    def watched(operation: Any, *tensors: Any, **how: Any) -> None:
        for some in tensors:
            given.extend(map(weakref.ref, some if isinstance(some, list) else [some]))
        operation(*tensors, **how)

    operations = {name: getattr(dist, name) for name in ("all_gather", "broadcast", "all_reduce")}
    for name, operation in operations.items():
        setattr(dist, name, functools.partial(watched, operation))
    mine = torch.full((3,), float(ranks.rank))
    for number in range(10):
        assert ranks.gather((ranks.rank, number)) == [(0, number), (1, number)]
        assert ranks.from_first((ranks.rank, number)) == (0, number)
        assert ranks.mean(mine).tolist() == [0.5] * 3
        ranks.average_in_place([mine.clone()])
        ranks.same_tensors([mine.clone()])
    for name, operation in operations.items():
        setattr(dist, name, operation)
    time.sleep(0.2)  # until Gloo has let go of them
    return [one() is not None for one in given]


SGD = ("--optimizer", "sgd", "--batch-size", "32", "--max-steps-per-epoch", "6")
UNEVEN = ("--remainder", "uneven", "--batch-size", "100")
refused = ""
try:
    sync.check(parse(["--sync", "adasum"]), ranks)
except Exception as error:
    refused = f"{type(error).__name__}: {error}"
cases = {
    "every step": trained(*SGD),
    "two passes": trained(
        *SGD, "--batch-size", "16", "--max-steps-per-epoch", "13", "--backward-passes", "2"
    ),
    "16 bits": trained(*SGD, "--compression", "fp16"),
    "average:1": trained(*SGD, "--sync", "average:1"),
    "average:4": trained(*SGD, "--sync", "average:4"),
    "average:epoch": trained(*SGD, "--sync", "average:epoch"),
    "uneven": trained(*UNEVEN, "--optimizer", "sgd"),
    "uneven averages": trained(*UNEVEN, "--optimizer", "sgd", "--sync", "average:1"),
    "divided": trained(*SGD, "--divide", "epochs"),
    "killed averages": resumed("--batch-size", "32", "--sync", "average:3"),
    "killed passes": resumed("--batch-size", "32", "--backward-passes", "4"),
    "settled": ranks.gather(settled()),
    "adasum": ranks.gather(refused),
    "held": ranks.gather(held()),
}
if ranks.first:
    print(json.dumps(cases))

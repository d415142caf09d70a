"""Ranks that speak by Horovod's PyTorch binding; what stands for it is as particular as it is."""

from __future__ import annotations

import subprocess

import pytest

from tests.entrypoints.strategies.torch_ranks import PYTHON, environment, need_torch
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

SECONDS = 180.0
# Rank 0 has sevens. Horovod takes a tensor without dimensions for one without values.
BROADCAST = """
import sys, types, torch
sys.path.insert(0, sys.argv[1])
def broadcast_parameters(named, root_rank):
    assert root_rank == 0 and len(dict(named)) == len(named)
    for name, tensor in named:
        assert tensor.is_contiguous()
        if tensor.dim():
            tensor.fill_(7)
binding = types.ModuleType("horovod.torch")
binding.broadcast_parameters = broadcast_parameters
sys.modules.update({"horovod": types.ModuleType("horovod"), "horovod.torch": binding})
sys.modules["horovod"].torch = binding
from lib.pytorch.horovod_ranks import HorovodTorchRanks
steps, weight = torch.tensor(0.0), torch.nn.Parameter(torch.zeros(3, 2))
HorovodTorchRanks.same_tensors(None, [steps, weight])
print(steps.tolist(), weight.tolist())
"""
# Weights that Horovod takes, whatever is fastest; DistributedDataParallel takes them in any order.
# Pictures have the order of the weights.
LAYOUT = """
import sys, numpy, torch
sys.path.insert(0, sys.argv[1])
from lib.arguments import parse
from lib.pytorch import models
from lib.pytorch.learner import pixels_of
from lib.pytorch.ranks import HOROVOD, OneRank, TORCH

class Data:
    shape, classes, brightest = (8, 8, 3), 3, 16

images = numpy.arange(2 * 8 * 8 * 3, dtype=numpy.uint8).reshape(2, 8, 8, 3)

for way in (HOROVOD, TORCH):
    ranks = OneRank()
    ranks.speak_by = way
    model = models.build_for(parse(["--model", "cnn"]), Data(), ranks)
    pixels = pixels_of(images, model, torch.device("cpu"))
    assert (pixels.numpy() == images.transpose(0, 3, 1, 2)).all()
    of_weights = all(one.is_contiguous() for one in model.parameters())
    print(of_weights, pixels.is_contiguous(), pixels.data_ptr() == images.ctypes.data)
"""


def of_torch(program: str) -> subprocess.CompletedProcess[str]:
    """``program`` in a Python that has PyTorch; its argument is the entry points' folder."""
    need_torch()
    return subprocess.run(
        [str(PYTHON), "-c", program, str(ENTRYPOINTS)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def test_values_without_dimensions_reach_all_ranks_too() -> None:
    """Adam counts its steps so: with a count of its own a rank that goes on would step apart."""
    done = of_torch(BROADCAST)
    assert done.stdout == "7.0 [[7.0, 7.0], [7.0, 7.0], [7.0, 7.0]]\n", done.stderr


def test_weights_are_contiguous_where_horovod_carries_them_and_else_no_picture_is_copied() -> None:
    done = of_torch(LAYOUT)
    assert done.stdout.splitlines() == ["True True False", "False False True"], done.stderr

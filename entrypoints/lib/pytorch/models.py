"""PyTorch models for images of any size. Pixels go in as they are stored, logits come out."""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch import nn

from .. import sync
from ..arguments import Settings
from ..data.dataset import DataSet
from ..errors import TrainingError
from ..progress import say
from . import freezing, weights
from .freezing import Network
from .ranks import HOROVOD, TorchRanks

DENSE_SIDE = 32  # pixels a side that the mlp sees at most; larger images are averaged down to it
MAP_SIDE = 8  # of the cnn's last feature map, at most
SMALLEST_SIDE = 32  # of what torchvision's models take here
# ImageNet's, of red, green and blue between 0 and 1: torchvision's documentation of its weights.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
OF_TORCHVISION = {"resnet50": "resnet50", "efficientnetb0": "efficientnet_b0"}


def build_for(settings: Settings, data: DataSet, ranks: TorchRanks) -> Network:
    """The model that the command line asks for, with fresh weights or, on rank 0, those of a file.

    All ranks call it; the broadcast that begins a run makes their weights equal.

    Raises:
        TrainingError: The images are too small for it, its package is missing, the weights are
            not there or another model's, or there are fewer layers than should be frozen.
        PeerEndedError: The same on the ranks that have nothing to add.
    """
    model = ranks.together(
        lambda: Network(
            Scaled(data.brightest),
            *_body(settings.model, data.shape, data.classes, settings.dropout),
        )
    )
    asked = settings.weights
    source = ranks.on_first(lambda: weights.read(asked, model) if asked != weights.NONE else None)
    found = ranks.from_first((source.digest, source.normalised) if source else None)
    if found is not None:
        model.chosen["first weights"] = found[0][:12]
        if found[1]:
            model[0].normalise()
    if source is not None:
        _fill(model, source, f"--model {settings.model}", data.classes)
    ranks.together(lambda: freezing.freeze(model, settings.freeze))
    if settings.freeze != freezing.NONE:
        model.chosen["frozen"] = settings.freeze
    # Gradients of grey pictures have this order whatever the weights have, and one that differs is
    # copied by DistributedDataParallel; cuDNN and oneDNN are fastest in it. Horovod refuses it.
    if ranks.speak_by != HOROVOD:
        model.lay_channels_last()
    return model


def _fill(model: Network, source: weights.Source, name: str, classes: int) -> None:
    with_head = weights.put(source, model)
    in_place = f", in place of {len(source.head[1])}" if source.head else ""
    fresh = f"a fresh head of {classes} classes{in_place}"
    say(f"weights: {name} from {source.place}, {'its head too' if with_head else fresh}")


class Scaled(nn.Module):
    """Pixels from 0 to ``brightest`` as numbers from 0 to 1; inside the model, so that who serves
    it needs to know nothing."""

    def __init__(self, brightest: int):
        super().__init__()
        self.brightest = float(brightest)
        self.mean: Any = None
        self.deviation: Any = None

    def normalise(self) -> None:
        """From now on also less ImageNet's mean and by its deviation, as torchvision's weights
        want it. They are in the state_dict, which so says what the weights want."""
        del self.mean, self.deviation
        self.register_buffer("mean", torch.tensor(MEAN).reshape(3, 1, 1))
        self.register_buffer("deviation", torch.tensor(DEVIATION).reshape(3, 1, 1))

    def forward(self, pixels: Any) -> Any:
        """(n, channels, rows, columns) of any type -> float32."""
        scaled = pixels.float() / self.brightest
        return scaled if self.mean is None else (scaled - self.mean) / self.deviation


def draw_apart(seed: int, rank: int) -> None:
    """What is drawn from now on differs from rank to rank and is the same in every run of a seed:
    else dropout would leave out the same on all of them. Called once the model is built."""
    torch.manual_seed(sync.drawing_seed(seed, rank))


def optimizer(name: str, parameters: Any, learning_rate: float) -> Any:
    """An optimizer of what is not frozen, ``adam`` (with Keras's epsilon) or ``sgd`` (with
    momentum 0.9)."""
    parameters = [one for one in parameters if one.requires_grad]
    if name == "adam":
        return torch.optim.Adam(parameters, learning_rate, eps=1e-7)
    return torch.optim.SGD(parameters, learning_rate, momentum=0.9)


def create_optimizer_state(optimizer: Any) -> None:
    """Makes the state that its first step would make, so that a checkpoint's values or rank 0's
    can be put into it."""
    names = ("momentum_buffer",) if "momentum" in optimizer.defaults else ("exp_avg", "exp_avg_sq")
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            state = optimizer.state[parameter]
            state.update({name: torch.zeros_like(parameter.detach()) for name in names})
            if "exp_avg" in names:
                state["step"] = torch.tensor(0.0)


def optimizer_tensors(optimizer: Any) -> list[Any]:
    """The tensors of its state, in one order in all runs."""
    return [
        state[name]
        for group in optimizer.param_groups
        for state in (optimizer.state[parameter] for parameter in group["params"])
        for name in sorted(state)
        if torch.is_tensor(state[name])
    ]


def _body(name: str, shape: Sequence[int], classes: int, dropout: float) -> list[Any]:
    if name == "mlp":
        return [*_mlp(shape), nn.Dropout(dropout), nn.Linear(128, classes)]
    if name == "cnn":
        return [*_cnn(shape), nn.Dropout(dropout), nn.Linear(128, classes)]
    if name in OF_TORCHVISION:
        return _of_torchvision(name, shape, classes, dropout)
    raise TrainingError(
        f"--model {name}: this script has mlp, cnn and with torchvision "
        f"{' and '.join(OF_TORCHVISION)}"
    )


def _mlp(shape: Sequence[int]) -> list[Any]:
    rows, columns, channels = shape
    pools = tuple(max(1, -(-side // DENSE_SIDE)) for side in (rows, columns))
    sides = tuple(side // pool for side, pool in zip((rows, columns), pools))
    smaller = [nn.AvgPool2d(pools)] if max(pools) > 1 else []
    dense = nn.Linear(sides[0] * sides[1] * channels, 128)
    return [*smaller, nn.Flatten(), dense, nn.ReLU()]


def _cnn(shape: Sequence[int]) -> list[Any]:
    """Two blocks of convolution and pooling, and as many more as large images need."""
    rows, columns, channels = shape
    body: list[Any] = []
    filters = 32
    while len(body) < 6 or min(rows, columns) > MAP_SIDE:
        body += [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU()]
        body.append(nn.MaxPool2d(2, ceil_mode=min(rows, columns) <= 1))
        one = 1 if min(rows, columns) <= 1 else 0
        rows, columns = (rows + one) // 2, (columns + one) // 2
        channels, filters = filters, min(filters * 2, 128)
    dense = nn.Linear(rows * columns * channels, 128)
    return [*body, nn.Flatten(), dense, nn.ReLU()]


def _of_torchvision(name: str, shape: Sequence[int], classes: int, dropout: float) -> list[Any]:
    """The body of torchvision's model with fresh weights, and a head of our own."""
    try:
        from torchvision import models
    except ImportError as error:
        raise TrainingError(
            f"--model {name}: comes with torchvision, which cannot be imported ({error}). Install "
            "the torchvision that fits this torch, or take --model cnn."
        ) from error
    if min(shape[:2]) < SMALLEST_SIDE:
        raise TrainingError(
            f"--model {name}: images are {shape[1]}x{shape[0]}; expected at least "
            f"{SMALLEST_SIDE}x{SMALLEST_SIDE}. Add --image-size {SMALLEST_SIDE} or more, or take "
            "--model cnn."
        )
    body = getattr(models, OF_TORCHVISION[name])(weights=None)
    head = "fc" if hasattr(body, "fc") else "classifier"
    last = body.fc if head == "fc" else body.classifier[-1]
    setattr(body, head, nn.Identity())
    grey = [Coloured()] if shape[2] == 1 else []
    return [*grey, body, nn.Dropout(dropout), nn.Linear(last.in_features, classes)]


class Coloured(nn.Module):
    """Grey pictures as three equal channels."""

    def forward(self, pixels: Any) -> Any:
        """(n, 1, rows, columns) -> (n, 3, rows, columns)."""
        return pixels.expand(-1, 3, -1, -1)

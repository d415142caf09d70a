"""First weights out of a state_dict that ``torch.save`` has written; nothing of a file is executed.

Names are those of these scripts' models or of torchvision's, also as DistributedDataParallel, a
LightningModule or an exported model puts its own before them. Rank 0 alone reads.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import zipfile
from dataclasses import dataclass
from typing import Any, Mapping

import torch

from .. import places, storage
from ..errors import TrainingError, first_line

NONE, DOWNLOAD = "none", "imagenet"
# Where training programs keep a state_dict in what they save.
_INSIDE = ("state_dict", "model_state_dict", "model")
_BEFORE = ("", "module.", "model.", "model.module.", "_orig_mod.", "0.")
_HEADS = ("fc.", "classifier.1.")  # torchvision's, of ResNet and EfficientNet
_BEGINNINGS = (b"PK", b"\x80")  # of archives, and of what PyTorch before 1.6 wrote
_COUNTER = "num_batches_tracked"  # absent in files of PyTorch before 0.4.1, and of no weight


@dataclass(frozen=True)
class Source:
    """Weights that fit a model's body.

    Attributes:
        place: The file's, as given.
        digest: SHA-256 of its bytes.
        body: Tensors by the model's own names.
        head: Weight and bias of their own head, where there is one.
        normalised: Whether they want pixels less ImageNet's mean, by its deviation.
    """

    place: str
    digest: str
    body: Mapping[str, Any]
    head: tuple[Any, ...]
    normalised: bool


def read(place: str, model: Any) -> Source:
    """Reads a file and finds the model's names in it. Blocks as long as that takes.

    Args:
        place: A file of this machine.
        model: Of ``models.build_for``, fresh.

    Raises:
        TrainingError: There is no such file, it is damaged or no state_dict, or another model's.
    """
    if place == DOWNLOAD:
        raise TrainingError(
            "--weights imagenet: this script downloads nothing; give torchvision's file of the "
            "model (resnet50-*.pth, efficientnet_b0_*.pth) with --weights FILE"
        )
    content = _content(place)
    tensors = _tensors(place, content)
    names, before, of_torchvision = _naming(model, tensors)
    body = {own: tensors[name] for own, name in names.items() if name in tensors}
    _check(place, model, names, body)
    heads = _HEADS if of_torchvision else (f"{len(model) - 1}.",)
    pairs = [tuple(tensors.get(f"{before}{one}{name}") for name in ("weight", "bias"))
             for one in heads]  # fmt: skip
    return Source(
        place=place,
        digest=hashlib.sha256(content).hexdigest(),
        body=body,
        head=next((pair for pair in pairs if None not in pair), ()),
        normalised=of_torchvision or f"{before}0.mean" in tensors,
    )


def put(source: Source, model: Any) -> bool:
    """Puts the weights into ``model``; its head keeps its own where it has other classes.

    Returns:
        Whether its head has them too.
    """
    own = model.state_dict()
    head = (model[-1].weight, model[-1].bias)
    fits = [tensor.shape for tensor in source.head] == [tensor.shape for tensor in head]
    with torch.no_grad():
        for name, tensor in source.body.items():
            own[name].copy_(tensor)
        for ours, tensor in zip(head, source.head if fits else ()):
            ours.copy_(tensor)
    return fits


def _content(place: str) -> bytes:
    if storage.is_remote(place):
        raise _error(place, "is no file of this machine")
    try:
        return storage.read(places.on_this_machine(place))
    except OSError as error:
        raise _error(place, f"cannot be read: {error.strerror or first_line(error)}") from error


def _tensors(place: str, content: bytes) -> dict[str, Any]:
    if _is_program(content):
        raise _error(
            place,
            "is a program (TorchScript), and none is run for its weights; once: "
            "torch.save(torch.jit.load(FILE).state_dict(), OUT)",
        )
    if not content.startswith(_BEGINNINGS):
        raise _error(place, "is no file that torch.save has written")
    try:
        found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise _error(
            place,
            "holds more than tensors, and nothing of it is run; save model.state_dict() alone",
        ) from error
    except Exception as error:  # who reads a broken file meets anything
        if isinstance(error, TypeError) and "weights_only" in str(error):
            words = f"is read by torch 1.13 or newer; this is {torch.__version__}"
            raise _error(place, words) from error
        words = f"is cut or damaged: {type(error).__name__}: {first_line(error)}"
        raise _error(place, words) from error
    if isinstance(found, dict):
        found = next((found[name] for name in _INSIDE if isinstance(found.get(name), dict)), found)
        tensors = {str(name): one for name, one in found.items() if torch.is_tensor(one)}
        if tensors:
            return tensors
    raise _error(place, "holds no tensors by name")


def _is_program(content: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return any(name.endswith("/constants.pkl") for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, RuntimeError):  # damaged, which torch.load will say
        return False


def _naming(model: Any, tensors: Mapping[str, Any]) -> tuple[dict[str, str], str, bool]:
    """(own name -> the file's, what stands before all of them, whether they are torchvision's):
    the way of naming by which the file has the most."""
    last = f"{len(model) - 1}."
    body = [name for name in model.state_dict() if not name.startswith(("0.", last))]
    ways = [
        ({own: before + (own.partition(".")[2] if theirs else own) for own in body}, before, theirs)
        for theirs in (False, True)
        for before in _BEFORE
    ]
    return max(ways, key=lambda way: sum(name in tensors for name in way[0].values()))


def _check(place: str, model: Any, names: Mapping[str, str], body: Mapping[str, Any]) -> None:
    absent = [names[own] for own in names if own not in body and not own.endswith(_COUNTER)]
    if absent:
        raise _error(
            place,
            f"has no weights of this model: {len(absent)} of {len(names)} tensors are missing, "
            f"{absent[0]} first. Give another file, or --model",
        )
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for own, tensor in body.items():
        if tuple(tensor.shape) != shapes[own]:
            raise _error(
                place,
                f"{names[own]} is of {_told(tensor.shape)}, and this model for these images "
                f"expects {_told(shapes[own])}. Give another file, or --model, --data or "
                "--image-size as it was trained with",
            )


def _error(place: str, words: str) -> TrainingError:
    return TrainingError(f"--weights {place}: {words}.")


def _told(shape: Any) -> str:
    return "x".join(str(length) for length in shape) or "1"

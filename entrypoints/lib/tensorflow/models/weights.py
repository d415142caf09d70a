"""The first weights of a model: fresh, from a file, or ImageNet's by the framework's own download.

Rank 0 alone reads or downloads; the others get its weights by the broadcast that begins a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ...arrays import Array
from ...errors import TrainingError
from .architectures import APPLICATIONS, DEVIATION, FRESH, IMAGENET, MEAN, SMALLEST, body_of
from .weights_file import WeightsFile

NONE, DOWNLOAD = "none", "imagenet"
# Where the download comes from (BASE_WEIGHTS_PATH of keras.applications), to fetch it elsewhere.
_HOST = "https://storage.googleapis.com/"
PUBLISHED = {
    "resnet50": _HOST + "tensorflow/keras-applications/resnet/"
    "resnet50_weights_tf_dim_ordering_tf_kernels_notop.h5",
    "efficientnetb0": _HOST + "keras-applications/efficientnetb0_notop.h5",
}
_NO_NORMALIZATION = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


ByLayer = Tuple[Dict[str, Sequence[Array]], Sequence[Sequence[Array]]]


@dataclass(frozen=True)
class Source:
    """Weights that are there to be put into a model, on rank 0.

    Attributes:
        name: For messages: a file's place, or ``imagenet``.
        digest: What tells them from others: the file's SHA-256, or ``imagenet``.
        pixels: What the weights want pixels to be: architectures.FRESH or IMAGENET.
        by_layer: For a body's layers their arrays by layers' names, and the arrays of the other
            layers.
    """

    name: str
    digest: str
    pixels: str
    by_layer: Callable[
        [Sequence[Any]], tuple[dict[str, Sequence[Array]], Sequence[Sequence[Array]]]
    ]


def read(asked: str, model: str) -> Source:
    """Reads a file, or has keras.applications download. Blocks as long as that takes.

    Args:
        asked: A place, or ``imagenet``.
        model: The architecture's name.

    Raises:
        TrainingError: There is no such file, it is damaged, or nothing can be downloaded here.
    """
    if asked == DOWNLOAD:
        return _downloaded(model)
    file = WeightsFile(asked)
    own = _own_pixels(file, model)
    if own is not None:
        return Source(asked, file.digest, own, file.by_layer)
    if model == "resnet50":
        return Source(asked, file.digest, IMAGENET, lambda body: _from_bgr(*file.by_layer(body)))
    pixels = FRESH if model not in APPLICATIONS else _pixels_by(file.normalization(), asked)
    return Source(asked, file.digest, pixels, file.by_layer)


def put(source: Source, model: Any) -> tuple[bool, int | None]:
    """Puts the weights into ``model``; its head keeps its own where it has other classes.

    Returns:
        (whether its head has them too, the number of classes of their own head or None).

    Raises:
        TrainingError: They are another model's.
    """
    body = [one for one in body_of(model) if one.weights and not _is_normalization(one.name)]
    arrays, others = source.by_layer(body_of(model))
    absent = [layer.name for layer in body if layer.name not in arrays]
    if absent:
        raise TrainingError(
            f"--weights {source.name}: these are no weights of {model.name}: {len(absent)} of its "
            f"{len(body)} layers are missing, {absent[0]} first. Give another file, or --model."
        )
    for layer in body:
        found = [array.shape for array in arrays[layer.name]]
        expected = [tuple(weight.shape) for weight in layer.weights]
        if found != expected:
            raise TrainingError(
                f"--weights {source.name}: layer {layer.name} has arrays of {_told(found)}; "
                f"{model.name} for these images expects {_told(expected)}. Give another file, or "
                "--model, --data or --image-size as it was trained with."
            )
    for layer in body:
        layer.set_weights(list(arrays[layer.name]))
    own: Sequence[Array] = next((pair for pair in reversed(others) if _is_head(pair)), ())
    head = model.layers[-1]
    fits = [array.shape for array in own] == [tuple(weight.shape) for weight in head.weights]
    if fits:
        head.set_weights(list(own))
    return fits, len(own[1]) if own else None


def _downloaded(model: str) -> Source:
    make = getattr(tf.keras.applications, APPLICATIONS[model])
    try:
        ready = make(weights="imagenet", include_top=False, input_shape=(SMALLEST, SMALLEST, 3))
    except Exception as error:  # tf.keras.utils.get_file raises a bare Exception
        words = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TrainingError(
            f"--weights imagenet: they cannot be downloaded here: {words}. Fetch "
            f"{PUBLISHED[model]} where there is a way to it, and give that file with --weights."
        ) from error
    arrays = {one.name: one.get_weights() for one in ready.layers if one.weights}
    if model == "resnet50":
        _from_bgr(arrays, [])
    return Source(DOWNLOAD, DOWNLOAD, IMAGENET, lambda body: (arrays, []))


def _own_pixels(file: WeightsFile, model: str) -> str | None:
    """What a model that these scripts have saved does to pixels; None for others' files.

    Theirs is a Rescaling before a model of keras.applications.
    """
    layers = file.layers or ()
    configs = {str(layer.get("class_name")): layer.get("config") or {} for layer in layers}
    if "Rescaling" not in configs or "Functional" not in configs or model not in APPLICATIONS:
        return None
    return FRESH if isinstance(configs["Rescaling"].get("offset"), (int, float)) else IMAGENET


def _from_bgr(arrays: dict[str, Sequence[Array]], others: Sequence[Sequence[Array]]) -> ByLayer:
    """keras.applications' ResNet50 takes blue, green, red; ours red, green, blue: the first
    kernel's input channels change places."""
    first = arrays.get("conv1_conv", ())
    if first and first[0].ndim == 4:
        arrays["conv1_conv"] = [first[0][:, :, ::-1], *first[1:]]
    return arrays, others


def _pixels_by(normalization: Sequence[Array], place: str) -> str:
    """By the statistics that EfficientNetB0's own normalisation has in the file."""
    if not normalization:
        return IMAGENET
    found = [np.ravel(array) for array in normalization[:2]]
    for pixels, (mean, variance) in ((FRESH, _NO_NORMALIZATION), (IMAGENET, (MEAN, DEVIATION))):
        if all(
            len(array) in (1, 3) and np.allclose(array, known[: len(array)], atol=1e-3)
            for array, known in zip(found, (mean, variance))
        ):
            return pixels
    raise TrainingError(
        f"--weights {place}: its normalisation has mean {found[0].tolist()} and variance "
        f"{found[1].tolist()}; expected ImageNet's ({MEAN}, {DEVIATION}) or none. Give another "
        "file."
    )


def _is_normalization(name: str) -> bool:
    return name.partition("_")[0] == "normalization"


def _is_head(arrays: Sequence[Array]) -> bool:
    return len(arrays) == 2 and arrays[0].ndim == 2 and arrays[1].shape == arrays[0].shape[1:]


def _told(shapes: Sequence[Sequence[int]]) -> str:
    return ", ".join("x".join(str(length) for length in shape) or "1" for shape in shapes) or "none"

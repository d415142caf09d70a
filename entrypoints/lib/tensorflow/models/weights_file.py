"""The arrays in a file of weights: Keras's HDF5 layouts, old and new, and its .keras archives.

Nothing of a file is executed: configurations are read as JSON, arrays as arrays.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
import zlib
from typing import Any, Mapping, Sequence

import numpy as np

from ... import places, storage
from ...arrays import Array
from ...errors import TrainingError, first_line

Arrays = Sequence[Array]
_HDF5 = b"\x89HDF\r\n\x1a\n"
# What h5py raises of a damaged file, and what is met where a group should be and is none.
_DAMAGE = (OSError, KeyError, ValueError, RuntimeError, TypeError, AttributeError)
_IN_KERAS = "model.weights.h5"


class WeightsFile:
    """See the module; read whole, so that a place may be a folder or an address like gs://.

    Args:
        place: Of the file.

    Attributes:
        place: As given.
        digest: SHA-256 of its bytes.

    Raises:
        TrainingError: It is absent, cut, or no such file.
    """

    def __init__(self, place: str):
        self.place = place
        try:
            content = storage.read(places.on_this_machine(place))
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror or first_line(error)}") from error
        self.digest = hashlib.sha256(content).hexdigest()
        self._config: Any = None
        if content.startswith(b"PK"):
            content = self._of_archive(content)
        elif not content.startswith(_HDF5):
            raise self._error("is no HDF5 file and no .keras archive")
        import h5py  # type: ignore[import-untyped]

        try:
            self._root = h5py.File(io.BytesIO(content), "r")
            self._group = self._root.get("model_weights", self._root)
            if "model_config" in self._root.attrs:
                self._config = json.loads(self._root.attrs["model_config"])
        except _DAMAGE as error:
            raise self._error(f"is cut or damaged: {first_line(error)}") from error

    def _of_archive(self, content: bytes) -> bytes:
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                self._config = json.loads(archive.read("config.json"))
                return archive.read(_IN_KERAS)
        except KeyError as error:
            raise self._error(f"is an archive without {_IN_KERAS} and config.json") from error
        except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, RuntimeError) as error:
            raise self._error(f"is cut or damaged: {first_line(error)}") from error

    @property
    def layers(self) -> Sequence[Mapping[str, Any]] | None:
        """The model's layers as its configuration tells them; None for weights alone."""
        if self._config is None:
            return None
        config = self._config.get("config")
        found = config.get("layers") if isinstance(config, dict) else None
        return found if isinstance(found, list) else []

    def by_layer(self, layers: Sequence[Any]) -> tuple[dict[str, Arrays], list[Arrays]]:
        """What the file has for these layers of ours, and the arrays of the file's other layers.

        Args:
            layers: A body, in order; those of a Keras model, where the file may have the model
                itself or another model round it.

        Returns:
            (layer's name -> its arrays in the order of ``layer.weights``, the others in order).

        Raises:
            TrainingError: The file is damaged.
        """
        try:
            if "layer_names" in self._group.attrs:
                return _of_old_layout(self._group, layers)
            return _of_new_layout(self._group, layers)
        except _DAMAGE as error:
            raise self._error(f"is cut or damaged: {first_line(error)}") from error

    def normalization(self) -> Sequence[Array]:
        """Mean, variance and count of its first Normalization layer; empty where it has none.

        Raises:
            TrainingError: The file is damaged.
        """
        try:
            if "layer_names" not in self._group.attrs:
                inner = _container(self._group)
                return _variables(inner["normalization"]) if "normalization" in inner else ()
            names = _texts(self._group.attrs["layer_names"])
            name = next((one for one in names if one.partition("_")[0] == "normalization"), None)
            if name is None:
                return ()
            group = self._group[name]
            return [np.asarray(group[one]) for one in _texts(group.attrs["weight_names"])]
        except _DAMAGE as error:
            raise self._error(f"is cut or damaged: {first_line(error)}") from error

    def _error(self, words: str) -> TrainingError:
        return TrainingError(
            f"--weights {self.place}: {words}. Give a file of keras.applications or one that this "
            "script or Keras has saved (.keras, .h5), or leave --weights out."
        )


def _of_old_layout(group: Any, layers: Sequence[Any]) -> tuple[dict[str, Arrays], list[Arrays]]:
    """Groups by layers' names, each with the names of its weights in order.

    A model inside has one group, in which weights bear their layers' names. Layers that have
    numbered names (those of a small model, made one after another) are taken in order.
    """
    found: list[tuple[str, list[Array]]] = []
    for name in _texts(group.attrs["layer_names"]):
        weights = _texts(group[name].attrs["weight_names"])
        inside: dict[str, list[Array]] = {}
        for weight in weights:
            inside.setdefault(weight.split("/")[-2] if "/" in weight else name, []).append(
                np.asarray(group[name][weight])
            )
        if len(inside) == 1:
            inside = {name: next(iter(inside.values()))}
        found += inside.items()
    names = [layer.name for layer in layers if layer.weights]
    if any(re.fullmatch(r"(dense|conv2d)(_\d+)?", name) for name in names):
        arrays = dict(zip(names, (of_layer for _, of_layer in found)))
        return arrays, [of_layer for _, of_layer in found[len(names) :]]
    by_name: dict[str, Arrays] = {name: of_layer for name, of_layer in found if name in names}
    return by_name, [of_layer for name, of_layer in found if name not in names]


def _of_new_layout(group: Any, layers: Sequence[Any]) -> tuple[dict[str, Arrays], list[Arrays]]:
    """Groups by layers' classes, counted: conv2d, conv2d_1."""
    outer = _container(group)
    inner = next(
        (_container(outer[name]) for name in ("functional", "model") if name in outer), outer
    )
    taken: dict[str, Arrays] = {}
    used: set[str] = set()
    counts: dict[str, int] = {}
    for layer in layers:
        kind = _snake_case(type(layer).__name__)
        number = counts.get(kind, 0)
        counts[kind] = number + 1
        name = f"{kind}_{number}" if number else kind
        if name in inner and layer.weights:
            taken[layer.name] = _variables(inner[name])
            used.add(name)
    others = [name for name in outer if outer is not inner or name not in used]
    rest = [_variables(outer[name]) for name in sorted(others, key=_counted)]
    return taken, [arrays for arrays in rest if arrays]


def _container(group: Any) -> Any:
    """Where a model's layers are: Keras 2.12 to 3 name it differently."""
    for name in ("layers", "_layer_checkpoint_dependencies", "_self_tracked_trackables"):
        if name in group:
            return group[name]
    return group


def _variables(group: Any) -> list[Array]:
    variables = group.get("vars", {}) if hasattr(group, "get") else {}  # else it is an array
    return [np.asarray(variables[name]) for name in sorted(variables, key=int)]


def _snake_case(name: str) -> str:
    """As Keras has it: Conv2D is conv2d, BatchNormalization is batch_normalization."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _counted(name: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.*?)(?:_(\d+))?", name)
    assert match
    return match.group(1), int(match.group(2) or 0)


def _texts(values: Any) -> list[str]:
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]

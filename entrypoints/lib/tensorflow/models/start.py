"""The model of a run, built alike on all ranks, and the copy of it that is exported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Mapping

import tensorflow as tf

from ... import sync
from ...arguments import Settings
from ...data.dataset import DataSet
from ...precision import FLOAT16, FLOAT32, choose, line
from ...progress import say
from ...ranks import Ranks
from . import architectures, freezing, precision, weights
from .architectures import FRESH
from .augmentation import Augmentation


@dataclass(frozen=True)
class Blueprint:
    """What a model is made by, the same on all ranks.

    Attributes:
        model: The architecture's name.
        shape: (rows, columns, channels) of an image.
        classes: Length of the output.
        brightest: The largest pixel value.
        dropout: Before the head.
        pixels: See ``architectures.build``.
        weights: What tells the first weights from others (``weights.Source.digest``), or None.
        freeze: See ``freezing.freeze``.
        precision: In which layers compute.
    """

    model: str
    shape: tuple[int, ...]
    classes: int
    brightest: int
    dropout: float
    pixels: str
    weights: str | None
    freeze: str | int
    precision: str

    @property
    def identity(self) -> Mapping[str, Any]:
        """What checkpoints of such a model belong to, beside what every checkpoint says.

        A plain model has none, as before there was a choice.
        """
        of_freeze = None if self.freeze == freezing.NONE else self.freeze
        of_scale = self.precision if self.precision == FLOAT16 else None
        digest = self.weights[:12] if self.weights else None
        chosen = {"first weights": digest, "frozen": of_freeze, "loss scale for": of_scale}
        return {name: value for name, value in chosen.items() if value is not None}


def build_for(settings: Settings, data: DataSet, ranks: Ranks) -> Any:
    """The model that the command line asks for, with fresh weights or, on rank 0, those of a file.

    All ranks call it; the broadcast that begins a run makes their weights equal. What it was made
    by is its attribute ``blueprint``.

    Raises:
        TrainingError: The images are too small for it, the weights are not there or another
            model's, there are fewer layers than should be frozen, or a rank's device cannot
            compute in the precision.
        PeerEndedError: The same on the ranks that have nothing to add.
    """
    devices = ranks.gather(precision.gpus_here())
    blueprint = Blueprint(
        model=settings.model,
        shape=tuple(data.shape),
        classes=data.classes,
        brightest=data.brightest,
        dropout=settings.dropout,
        pixels=FRESH,
        weights=None,
        freeze=settings.freeze,
        precision=ranks.together(lambda: choose(settings.precision, devices)),
    )
    if settings.precision != FLOAT32 and ranks.first:
        say(line(blueprint.precision))
    source = ranks.on_first(lambda: _read(settings))
    found = ranks.from_first((source.pixels, source.digest) if source else None)
    if found is not None:
        blueprint = replace(blueprint, pixels=found[0], weights=found[1])
    model = ranks.together(lambda: _in_training(blueprint, settings, ranks))
    ranks.on_first(lambda: _fill(model, source))
    return model


def portable(model: Any, settings: Settings) -> Any:
    """A copy of ``model`` in float32, without augmentation and compiled with Keras's own
    optimizer, so that its file loads without Horovod and these scripts."""
    copy = _plain(model.blueprint)
    copy.set_weights(model.get_weights())
    copy.compile(settings.optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return copy


def draw_apart(seed: int, rank: int) -> None:
    """What layers draw from now on differs from rank to rank and is the same in every run of a
    seed: else those that keras.applications has made without one, as EfficientNet's dropout, would
    leave out the same on all ranks. Called once the model is built, and before it is trained."""
    tf.random.set_seed(sync.drawing_seed(seed, rank))


def draw_on(model: Any, batches: int) -> None:
    """Lets a model's augmentation draw as after so many batches, where a run goes on."""
    for layer in model.layers:
        if isinstance(layer, Augmentation):
            layer.begin_at(batches)


def _in_training(blueprint: Blueprint, settings: Settings, ranks: Ranks) -> Any:
    before = []
    if settings.augment_in_model:
        kinds, brightest = settings.augment_in_model, blueprint.brightest
        before = [Augmentation(kinds, brightest, settings.seed, ranks.rank)]
    with precision.computing_in(blueprint.precision):
        model = architectures.build(
            blueprint.model,
            blueprint.shape,
            blueprint.classes,
            blueprint.brightest,
            pixels=blueprint.pixels,
            dropout=blueprint.dropout,
            seed=ranks.rank,
            before=before,
            at_rest=blueprint.freeze == freezing.BODY,
        )
    freezing.freeze(model, blueprint.freeze)
    model.blueprint = blueprint
    return model


def _plain(blueprint: Blueprint) -> Any:
    return architectures.build(
        blueprint.model,
        blueprint.shape,
        blueprint.classes,
        blueprint.brightest,
        pixels=blueprint.pixels,
        dropout=blueprint.dropout,
    )


def _read(settings: Settings) -> weights.Source | None:
    if settings.weights == weights.NONE:
        return None
    return weights.read(settings.weights, settings.model)


def _fill(model: Any, source: weights.Source | None) -> None:
    if source is None:
        return
    with_head, classes = weights.put(source, model)
    in_place = f", in place of {classes}" if classes else ""
    fresh = f"a fresh head of {model.blueprint.classes} classes{in_place}"
    say(f"weights: {model.name} from {source.name}, {'its head too' if with_head else fresh}")

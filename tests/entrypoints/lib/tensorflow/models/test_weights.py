"""Weights of keras.applications and of our own exports, in each layout that Keras has written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entrypoints.lib.errors import TrainingError

pytestmark = pytest.mark.horovod

SIDE, CLASSES = 32, 5
PIXELS = np.random.default_rng(7).integers(0, 256, (4, SIDE, SIDE, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def room(tensorflow: Any) -> Any:
    from entrypoints.lib.tensorflow import models
    from entrypoints.lib.tensorflow.models import architectures, weights

    _ = models, architectures
    return weights


@pytest.fixture(scope="module")
def build(room: Any) -> Any:
    from entrypoints.lib.tensorflow.models import build

    return build


def stirred(model: Any, normalization: bool = False) -> Any:
    """``model`` with moving statistics as after training; with ImageNet's normalisation."""
    drawn = np.random.default_rng(3)
    for layer in model.layers:
        if "normalization" in layer.name and normalization:
            mean, deviation = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
            layer.set_weights([np.array(mean), np.array(deviation), np.array(1)])
            layer.finalize_state()
        elif "_bn" in layer.name:
            arrays = [drawn.uniform(0.5, 1.5, a.shape) for a in layer.get_weights()]
            layer.set_weights(arrays)
    return model


@pytest.fixture(scope="module")
def efficient(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with EfficientNetB0 as Keras writes it: top.h5, notop.h5, and newer ones."""
    folder = tmp_path_factory.mktemp("efficientnetb0")
    make = tensorflow.keras.applications.EfficientNetB0
    top = make(weights=None, input_shape=(SIDE, SIDE, 3), classes=CLASSES)
    stirred(top, normalization=True)
    top.save_weights(str(folder / "top.h5"))
    body = tensorflow.keras.Model(top.input, top.get_layer("top_activation").output)
    body.save_weights(str(folder / "notop.h5"))
    if has_archives(tensorflow):
        top.save_weights(str(folder / "top.weights.h5"))
        top.save(str(folder / "top.keras"))
    return folder


def has_archives(tensorflow: Any) -> bool:
    return tuple(int(word) for word in tensorflow.__version__.split(".")[:2]) >= (2, 12)


@pytest.mark.timeout(900)  # four times 200 layers are made one by one
def test_pretrained_models_find_what_kerass_own_find_in_the_same_pixels(
    tensorflow: Any, room: Any, build: Any, efficient: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tensorflow.keras.applications.EfficientNetB0
    # Everything of the framework's own way but the network.
    monkeypatch.setattr(
        sys.modules[make.__module__].data_utils,
        "get_file",
        lambda name, *_, **__: str(efficient / name.partition("_")[2]),
    )
    shape = (SIDE, SIDE, 3)
    keras = make(weights="imagenet", include_top=False, pooling="avg", input_shape=shape)
    expected = keras(PIXELS, training=False).numpy()
    ours = build("efficientnetb0", shape, CLASSES, 255, pixels="imagenet")
    features = tensorflow.keras.Model(ours.input, ours.layers[-1].input)
    places = ["imagenet", *(str(path) for path in sorted(efficient.iterdir()))]
    assert len(places) >= 3
    for place in places:
        ours.get_layer("efficientnetb0").get_layer("stem_conv").set_weights(
            [np.zeros((3, 3, 3, 32))]
        )
        source = room.read(place, "efficientnetb0")
        with_head, _ = room.put(source, ours)
        assert (with_head, source.pixels) == ("/top." in place, "imagenet"), place
        assert np.abs(expected).max() > 0.01
        found = features(PIXELS, training=False).numpy()
        if tensorflow.__version__ < "2.9" and not tensorflow.__version__.startswith("2.1"):
            continue  # Keras divided by the square root alone: its own answer is the wrong one
        assert found == pytest.approx(expected, rel=2e-3, abs=2e-4), place


def test_a_resnet50_of_kerass_own_answers_alike_in_ours_with_a_head_of_as_many_classes(
    tensorflow: Any, room: Any, build: Any, tmp_path: Path
) -> None:
    applications = tensorflow.keras.applications
    shape = (SIDE, SIDE, 3)
    keras = stirred(applications.ResNet50(weights=None, input_shape=shape, classes=CLASSES))
    keras.save_weights(str(tmp_path / "weights.h5"))
    keras.save(str(tmp_path / "model.h5"))
    prepared = applications.resnet50.preprocess_input(PIXELS.copy())
    expected = keras.predict(prepared, verbose=0)
    ours = build("resnet50", shape, CLASSES, 255, pixels="imagenet")
    for name in ("weights.h5", "model.h5"):
        source = room.read(str(tmp_path / name), "resnet50")
        assert source.pixels == "imagenet"
        assert room.put(source, ours) == (True, CLASSES)
        found = ours.predict(PIXELS, verbose=0)
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)
    source = room.read(str(tmp_path / "model.h5"), "cnn")
    with pytest.raises(TrainingError, match=r"--weights .*: layer conv2d.* has arrays of 7x7x3x64"):
        room.put(source, build("cnn", shape, CLASSES, 255))


@pytest.mark.parametrize(
    ("name", "ending"),
    [("mlp", "keras"), ("mlp", "h5"), ("cnn", "keras"), ("cnn", "h5"), ("efficientnetb0", "keras")],
)
def test_our_own_export_starts_a_model_of_other_classes_with_a_fresh_head(
    tensorflow: Any, room: Any, build: Any, tmp_path: Path, name: str, ending: str
) -> None:
    if ending == "keras" and not has_archives(tensorflow):
        pytest.skip("needs TensorFlow 2.12")
    path = str(tmp_path / f"model.{ending}")
    shape = (SIDE, SIDE, 1)
    exported = build(name, shape, CLASSES, 255, dropout=0.5)
    exported.save(path)
    source = room.read(path, name)
    assert source.pixels == "fresh"
    other = build(name, shape, CLASSES + 1, 255)
    before = other.layers[-1].get_weights()
    assert room.put(source, other) == (False, CLASSES)
    assert all(
        np.array_equal(a, b) for a, b in zip(before, other.layers[-1].get_weights(), strict=True)
    )
    there, here = exported.get_weights()[:-2], other.get_weights()[:-2]
    assert all(np.array_equal(a, b) for a, b in zip(there, here, strict=True))
    same = build(name, shape, CLASSES, 255) if name != "efficientnetb0" else exported
    assert room.put(source, same) == (True, CLASSES)
    assert np.array_equal(same.predict(PIXELS[..., :1]), exported.predict(PIXELS[..., :1]))


def test_a_file_that_cannot_be_is_one_line_that_says_what_to_do(
    room: Any, build: Any, tmp_path: Path
) -> None:
    import h5py  # comes with TensorFlow

    model = build("mlp", (8, 8, 1), 3, 16)
    model.save(str(tmp_path / "whole.h5"))
    whole = (tmp_path / "whole.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.h5").write_text("weights")
    (tmp_path / "cut.keras").write_bytes(b"PK\x03\x04" + b"\0" * 50)
    for place, words in (
        (str(tmp_path / "absent.h5"), "cannot be read: No such file"),
        (str(tmp_path), "cannot be read: Is a directory"),
        (str(tmp_path / "text.h5"), "is no HDF5 file and no .keras archive"),
        (str(tmp_path / "cut.h5"), "is cut or damaged"),
        (str(tmp_path / "cut.keras"), "is cut or damaged"),
        ("nowhere://bucket/model.h5", "cannot be read"),
    ):
        with pytest.raises(TrainingError, match=words) as raised:
            room.read(place, "mlp")
        assert str(raised.value).startswith(f"--weights {place}: ")
        assert "\n" not in str(raised.value)
    source = room.read(str(tmp_path / "whole.h5"), "mlp")
    with pytest.raises(TrainingError, match=r"arrays of 64x128, 128; mlp for .* 81x128, 128\. G"):
        room.put(source, build("mlp", (9, 9, 1), 3, 16))
    with h5py.File(tmp_path / "pictures.h5", "w") as file:
        file["pictures"] = np.zeros((2, 8, 8))
    with pytest.raises(TrainingError, match=r"pictures\.h5: these are no weights of mlp: "):
        room.put(room.read(str(tmp_path / "pictures.h5"), "mlp"), model)


def test_without_a_way_to_the_download_the_line_names_the_file_to_fetch(
    tensorflow: Any, room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise Exception("URL fetch failure on https://there: None -- Name or service not known")

    module = tensorflow.keras.applications.EfficientNetB0.__module__
    monkeypatch.setattr(sys.modules[module].data_utils, "get_file", unreachable)
    with pytest.raises(TrainingError, match=r"Name or .* Fetch https://.*b0_notop\.h5 where") as at:
        room.read("imagenet", "efficientnetb0")
    assert "\n" not in str(at.value)

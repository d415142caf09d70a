from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from entrypoints.lib.data import reader as reader_module
from entrypoints.lib.data.division import DROP, PAD, Division
from entrypoints.lib.data.parquet_place import Pictures, open_place
from entrypoints.lib.data.reader import Batch, PictureReader
from entrypoints.lib.errors import TrainingError
from entrypoints.lib.pictures import decoding, headers
from tests.entrypoints.lib.pictures import samples

from .places_of_parquet import write_place

tf = pytest.importorskip("tensorflow")
tensorflow_data = pytest.importorskip("entrypoints.lib.data.tensorflow")
tensorflow_decoding = pytest.importorskip("entrypoints.lib.data.tensorflow_decoding")


def encoded(value: int, shape: tuple[int, int] = (12, 16), form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.full((*shape, 3), value, np.uint8)).save(stream, form)
    return stream.getvalue()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    content = [encoded(row, form="JPEG" if row % 3 else "PNG") for row in range(45)]
    return write_place(tmp_path_factory.mktemp("place"), [25, 20], 6, content=content)


@pytest.fixture(scope="module")
def pictures(place: Path) -> Pictures:
    return open_place(str(place))


@pytest.mark.parametrize("at_once", [1024, 16])
@pytest.mark.parametrize("batch_size", [4, 9, 45, 300])
@pytest.mark.parametrize("short", [True, False])
def test_tensorflow_gets_the_batches_of_the_reader(
    pictures: Pictures,
    batch_size: int,
    short: bool,
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tensorflow_data, "PICTURES_AT_ONCE", at_once)
    division = Division(1, 1, batch_size, PAD, short_batches=short, block_groups=3)
    if batch_size > 45 and not short:
        with pytest.raises(TrainingError, match="fill no batch"):
            PictureReader(pictures, division)
        return
    reader = PictureReader(pictures, division, seed=4)
    expected = list(reader.batches(epochs=2))
    for data in (tensorflow_data.encoded_batches(reader, epochs=2, weights=True),) * 2:
        found = list(data)
        assert len(found) == len(expected)
        for (content, labels, weights), batch in zip(found, expected, strict=True):
            assert content.numpy().tolist() == batch.content.tolist()
            assert labels.numpy().tolist() == batch.labels.tolist()
            assert weights.numpy().tolist() == batch.weights.tolist()


@pytest.mark.parametrize("short", [True, False])
def test_before_tensorflow_had_rebatch_the_batches_were_the_same(
    pictures: Pictures, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    division = Division(1, 1, 8, PAD, short_batches=short, block_groups=3)
    reader = PictureReader(pictures, division, seed=4)
    today = tensorflow_data.encoded_batches(reader, epochs=2)
    assert today.element_spec[0].shape.as_list() == [None if short else 8]
    monkeypatch.delattr(tf.data.Dataset, "rebatch")
    then = tensorflow_data.encoded_batches(reader, epochs=2)
    assert then.element_spec == today.element_spec
    for now, before in zip(today, then, strict=True):
        assert now[0].numpy().tolist() == before[0].numpy().tolist()
        assert now[1].numpy().tolist() == before[1].numpy().tolist()


@pytest.mark.parametrize(
    ("at_most", "batches"), [(16 << 20, 3), (1, 1), (20 * 1000, 2), (40 * 1000, 3)]
)
def test_few_large_pictures_are_handed_over_at_once(
    pictures: Pictures, at_most: int, batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = PictureReader(replace(pictures, content_bytes=45 * 1000), Division(batch_size=8))
    asked = []

    def noted(self: PictureReader, *, at_once: int, **_others: object) -> Iterator[Batch]:
        asked.append(at_once)
        yield from ()

    monkeypatch.setattr(tensorflow_data, "PICTURES_AT_ONCE", 31)
    monkeypatch.setattr(tensorflow_data, "BYTES_AT_ONCE", at_most)
    monkeypatch.setattr(PictureReader, "batches", noted)
    assert list(tensorflow_data.encoded_batches(reader, epochs=1)) == []
    assert asked == [batches]


def test_pictures_are_decoded_and_resized_in_the_order_of_the_reader(pictures: Pictures) -> None:
    reader = PictureReader(pictures, Division(2, 1, 4, DROP), rank=1, seed=4)
    expected = list(reader.batches(steps=8))
    data = tensorflow_data.picture_batches(reader, size=(8, 6), steps=8)
    assert data.element_spec[0].shape.as_list() == [None, 8, 6, 3]
    found = list(data)
    assert len(found) == 8
    for (images, labels), batch in zip(found, expected, strict=True):
        assert images.dtype == tf.float32
        assert np.allclose(images.numpy()[:, 3, 3, 1], batch.rows, atol=2)
        assert labels.numpy().tolist() == batch.labels.tolist()


def test_resuming_gives_tensorflow_the_very_next_batch(pictures: Pictures) -> None:
    reader = PictureReader(pictures, Division(batch_size=8), seed=4)
    whole = [
        batch[0].numpy().tolist() for batch in tensorflow_data.encoded_batches(reader, epochs=3)
    ]
    rest = tensorflow_data.encoded_batches(reader.at(reader.position(7)), epochs=3)
    assert [batch[0].numpy().tolist() for batch in rest] == whole[7:]


def test_a_crop_keeps_the_middle_and_the_ratio() -> None:
    pixels = np.zeros((20, 40, 3), np.uint8)
    pixels[:, 10:30] = 255
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    image = tensorflow_decoding.decode(stream.getvalue(), (10, 10), fit="crop").numpy()
    assert image.shape == (10, 10, 3)
    assert (image == 255).all()
    stretched = tensorflow_decoding.decode(stream.getvalue(), (10, 10)).numpy()
    assert (stretched[:, 0] == 0).all()


@pytest.mark.parametrize("side", [16, 32, 64, 128, 200])
def test_scaled_decoding_gives_nearly_the_same_picture(side: int) -> None:
    across = np.linspace(0, 255, side)
    pixels = np.stack(
        [
            np.broadcast_to(across, (side, side)),
            np.broadcast_to(across[:, None], (side, side)),
            np.full((side, side), 90.0),
        ],
        axis=2,
    ).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=95)
    whole, scaled = (
        tensorflow_decoding.decode(stream.getvalue(), (16, 16), scaled_decoding=scaled).numpy()
        for scaled in (False, True)
    )
    assert np.abs(whole - scaled).mean() < 8
    png = encoded(9, (64, 64))
    assert (tensorflow_decoding.decode(png, (16, 16), scaled_decoding=True).numpy() == 9).all()


@pytest.mark.parametrize(("kind", "scaled"), [("JPEG", False), ("JPEG", True), ("PNG", True)])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_that_its_exif_data_turn_is_upright_as_with_pillow(
    orientation: int, kind: str, scaled: bool
) -> None:
    content = samples.turned(64, 32, orientation, kind)
    shown = np.asarray(decoding.decoded(content, decoding.looked_at(content)))
    assert tensorflow_decoding.seen_size(content) == (shown.shape[1], shown.shape[0])
    half = (shown.shape[0] // 2, shown.shape[1] // 2)
    for size, step in ((shown.shape[:2], 1), (half, 2)):

        def decoded(one: Any, size: Any = size) -> Any:
            return tensorflow_decoding.decode(one, size, scaled_decoding=scaled)

        (image,) = tf.data.Dataset.from_tensors(content).map(decoded)  # in a graph
        assert np.abs(image.numpy() - shown[::step, ::step]).mean() < 12
        assert np.array_equal(image.numpy(), decoded(content).numpy())


def test_a_picture_is_turned_though_a_comment_comes_before_its_exif_data() -> None:
    content = samples.turned(64, 32, 6)
    late = content[:2] + b"\xff\xfe\x00\x0c" + b"x" * 10 + content[2:]
    for size in ((64, 32), (16, 8)):
        early, found = (tensorflow_decoding.decode(one, size).numpy() for one in (content, late))
        assert np.array_equal(early, found)
    assert tensorflow_decoding.seen_size(late) == (32, 64)


def behind_profile(kind: str, palette: bool) -> bytes:
    """A picture on its side whose EXIF data lie behind a large colour profile."""
    profile = random.Random(1).randbytes(3000)  # does not get smaller
    lying = samples.turned(64, 32, 6, kind, icc_profile=profile)
    if kind == "PNG" and not palette:
        return lying
    exif = Image.Exif()
    exif[0x0112] = 6
    if kind == "PNG":
        picture = samples.opened(lying).convert("P")
        return samples.encoded(picture, "PNG", icc_profile=profile, exif=exif)
    upright = samples.turned(64, 32, 1, icc_profile=profile)
    upright = upright[:2] + upright[upright.index(b"\xff\xe2") :]  # without EXIF data
    at = upright.index(b"\xff\xdb")
    segment = b"Exif\0\0" + exif.tobytes().removeprefix(b"Exif\0\0")
    size = (len(segment) + 2).to_bytes(2, "big")
    return upright[:at] + b"\xff\xe1" + size + segment + upright[at:]


@pytest.mark.parametrize(("kind", "palette"), [("JPEG", False), ("PNG", False), ("PNG", True)])
def test_a_picture_is_turned_by_exif_data_behind_a_large_colour_profile(
    kind: str, palette: bool
) -> None:
    content = behind_profile(kind, palette)
    assert not any(mark in content[: headers.BEGIN] for mark in (b"Exif", b"eXIf"))
    assert headers.differs_as_stored(content)
    assert tensorflow_decoding.seen_size(content) == (32, 64)
    shown = decoding.decoded(content, decoding.looked_at(content)).convert("RGB")

    def decoded(one: Any) -> Any:
        return tensorflow_decoding.decode(one, (64, 32))

    (image,) = tf.data.Dataset.from_tensors(content).map(decoded)
    assert np.abs(image.numpy() - np.asarray(shown)).mean() < 12


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "RGB", "L"])
def test_what_is_transparent_is_white_as_with_pillow(mode: str, scaled: bool) -> None:
    picture = samples.image(16, 12).convert(mode)
    if mode == "P":
        content = samples.encoded(picture, "PNG", transparency=bytes(256))
    elif mode in ("RGB", "L"):
        colour = (9, 9, 9) if mode == "RGB" else 9
        picture.paste(colour, (0, 0, 16, 1))
        content = samples.encoded(picture, "PNG", transparency=colour)
    else:
        picture.putalpha(Image.linear_gradient("L").resize((16, 12)))
        content = samples.encoded(picture, "PNG")
    shown = decoding.decoded(content, decoding.looked_at(content))
    image = tensorflow_decoding.decode(content, (12, 16), scaled_decoding=scaled).numpy()
    assert np.abs(image - np.asarray(shown.convert("RGB"))).max() <= 1
    assert image[0].min() > 240, "hardly anything of it is seen in the first row"


def test_a_corrupt_picture_in_the_midst_is_named_with_its_path(tmp_path: Path) -> None:
    content = [encoded(row) for row in range(20)]
    content[13] = b"\xff\xd8\xff no picture"
    reader = PictureReader(
        open_place(str(write_place(tmp_path, [20], 5, content=content))), Division(batch_size=4)
    )
    named = r"part-00000-13.jpg .*cannot be decoded as a picture \(jpeg::\w+ failed\. [^{\[]+\)\. "
    with (
        pytest.raises(TrainingError, match=named),
        tensorflow_data.naming_bad_pictures(reader),
    ):
        list(tensorflow_data.picture_batches(reader, epochs=1))


@pytest.mark.parametrize("remembered", [0, 160])
def test_a_corrupt_picture_is_named_though_tensorflow_has_read_on(
    tmp_path: Path, remembered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = [encoded(row) for row in range(160)]
    content[70] = b"\xff\xd8\xff no picture"
    place = open_place(str(write_place(tmp_path, [160], 20, content=content)))
    monkeypatch.setattr(reader_module, "REMEMBERED_PICTURES", remembered)
    monkeypatch.setattr(tensorflow_data, "PICTURES_AT_ONCE", 16)
    reader = PictureReader(place, Division(batch_size=8))

    def train() -> None:
        with tensorflow_data.naming_bad_pictures(reader):
            for _ in tensorflow_data.picture_batches(reader, epochs=1):
                time.sleep(0.1)  # a slow step, in which TensorFlow reads as far as it may

    with pytest.raises(TrainingError, match=r"0/part-00000-70.jpg .*cannot be decoded"):
        train()
    assert reader.recent.maxlen == (10 if remembered else 8)


def test_a_file_that_is_gone_is_said_in_one_line(tmp_path: Path) -> None:
    reader = PictureReader(open_place(str(write_place(tmp_path, [20, 20]))), Division(batch_size=4))
    (tmp_path / "train" / "part-00001.parquet").unlink()
    with (
        pytest.raises(TrainingError, match=r"part-00001.parquet: cannot be read"),
        tensorflow_data.naming_bad_pictures(reader),
    ):
        list(tensorflow_data.encoded_batches(reader, epochs=1))


def test_an_unknown_fit_is_refused(pictures: Pictures) -> None:
    reader = PictureReader(pictures, Division())
    with pytest.raises(TrainingError, match="expected one of stretch, crop"):
        tensorflow_data.picture_batches(reader, fit="fill")

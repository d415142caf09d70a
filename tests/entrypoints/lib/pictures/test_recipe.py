from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from PIL import Image

from entrypoints.lib.pictures import augmenting, decoding, resizing
from entrypoints.lib.pictures.recipe import Recipe
from tests.entrypoints.lib.pictures import samples


def made(recipe: Recipe, content: bytes, name: str = "a/b.jpg") -> list[tuple[str, bytes]]:
    return recipe.pictures(content, name, decoding.looked_at(content))


def difference(one: Image.Image, other: Image.Image) -> float:
    return float(np.abs(np.asarray(one, float) - np.asarray(other, float)).mean())


def test_a_picture_is_kept_byte_by_byte_where_nothing_is_asked_for() -> None:
    content = samples.jpeg() + b"trailing"
    assert made(Recipe(), content) == [("a/b.jpg", content)]


def test_the_original_is_kept_beside_its_copies() -> None:
    content = samples.jpeg()
    pictures = made(Recipe(augment=("flip", "color"), copies=2), content)
    assert [name for name, _ in pictures] == ["a/b.jpg", "a/b.jpg#1", "a/b.jpg#2"]
    assert pictures[0][1] == content
    assert len({content for _, content in pictures}) == 3


@pytest.mark.parametrize("fit", resizing.FITS)
@pytest.mark.parametrize("original", [(1, 1), (1000, 3), (3, 1000), (64, 48), (31, 77)])
@pytest.mark.parametrize("size", [(1, 1), (32, 24), (24, 32)])
def test_every_fit_gives_the_size_that_is_asked_for(
    fit: str, original: tuple[int, int], size: tuple[int, int]
) -> None:
    recipe = Recipe(size=size, fit=fit, augment=augmenting.KINDS, copies=1)
    for _, content in made(recipe, samples.jpeg(*original)):
        assert samples.opened(content).size == size


def test_crop_cuts_pad_borders_and_stretch_bends() -> None:
    picture = Image.new("RGB", (90, 30), "red")
    picture.paste("lime", (30, 0, 60, 30))
    cropped, padded, stretched = (
        resizing.resized(picture, (30, 30), fit) for fit in ("crop", "pad", "stretch")
    )
    assert cropped.getcolors() == [(900, (0, 255, 0))]
    assert padded.getpixel((15, 2)) == (0, 0, 0)
    assert padded.getpixel((15, 15)) == (0, 255, 0)
    assert padded.getpixel((2, 15)) == (255, 0, 0)
    assert stretched.getpixel((2, 2)) == (255, 0, 0)
    assert stretched.getpixel((15, 15)) == (0, 255, 0)


def test_a_picture_decoded_at_a_reduced_size_looks_the_same() -> None:
    content = samples.jpeg(1600, 1200, quality=95)
    whole = resizing.resized(samples.opened(content), (100, 100), "crop")
    (_, stored), *_ = made(Recipe(size=(100, 100), format="png"), content)
    assert difference(whole, samples.opened(stored)) < 2


@pytest.mark.parametrize(
    ("kind", "wanted", "stored"),
    [
        ("JPEG", "keep", "JPEG"),
        ("PNG", "keep", "PNG"),
        ("WEBP", "keep", "PNG"),
        ("PNG", "jpeg", "JPEG"),
        ("JPEG", "png", "PNG"),
    ],
)
def test_the_format_is_the_one_asked_for(kind: str, wanted: str, stored: str) -> None:
    content = samples.encoded(samples.image(), kind)
    ((_, made_anew),) = made(Recipe(size=(16, 16), format=wanted), content)
    assert samples.opened(made_anew).format == stored


def test_quality_decides_over_the_bytes() -> None:
    content = samples.jpeg(200, 200)
    sizes = [len(made(Recipe(format="jpeg", quality=q), content)[0][1]) for q in (20, 60, 95)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_nothing_but_pixels_is_stored() -> None:
    content = samples.encoded(samples.image(), comment=b"where it was", icc_profile=b"profile")
    ((_, stored),) = made(Recipe(format="jpeg"), content)
    assert not {"comment", "icc_profile", "exif"} & set(samples.opened(stored).info)


def test_the_same_seed_gives_the_same_copies_and_another_gives_others() -> None:
    def copies(seed: int, name: str) -> list[bytes]:
        recipe = Recipe(size=(24, 24), augment=augmenting.KINDS, copies=3, seed=seed)
        return [content for _, content in made(recipe, samples.jpeg(), name)[1:]]

    assert copies(1, "a") == copies(1, "a")
    assert len({*copies(1, "a"), *copies(2, "a"), *copies(1, "b")}) == 9


def test_what_is_drawn_does_not_change_with_versions() -> None:
    drawn = augmenting.draws(13, "a/b.jpg", 1)
    assert [round(drawn.random(), 6) for _ in range(3)] == [0.856612, 0.246372, 0.457804]


class Fixed(random.Random):
    """Draws one value for ever."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self.value = value

    def random(self) -> float:
        return self.value


@pytest.mark.parametrize("kind", augmenting.KINDS)
@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("drawn", [0.0, 0.3, 0.999])
def test_an_augmentation_keeps_size_and_mode_and_leaves_the_original(
    kind: str, mode: str, drawn: float
) -> None:
    picture = samples.image(mode=mode)
    before = picture.tobytes()
    copy: Any = augmenting.augmented(picture, [kind], Fixed(drawn))
    assert (copy.size, copy.mode, picture.tobytes()) == (picture.size, mode, before)
    assert copy.tobytes() != before or (kind, drawn) == ("flip", 0.999) or kind == "crop"


def test_a_flip_is_left_to_right() -> None:
    picture = samples.image()
    copy = augmenting.augmented(picture, ["flip"], Fixed(0.1))
    assert copy.getpixel((0, 5)) == picture.getpixel((39, 5))


def test_a_crop_shows_a_part_of_the_size_that_is_drawn() -> None:
    picture = Image.new("L", (100, 100), 0)
    picture.paste(255, (0, 0, 50, 100))
    copy = augmenting.augmented(picture, ["crop"], Fixed(0.0), (70, 70))
    assert sum(copy.getpixel((x, 35)) > 127 for x in range(70)) == 50

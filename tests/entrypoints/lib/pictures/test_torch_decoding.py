"""JPEG files through Debian's torchvision, beside Pillow's pixels: the same but for rounding."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.lib.data import torch_programs

pytestmark = pytest.mark.pip_network

TORCHVISION = Path("/usr/lib/python3/dist-packages/torchvision/__init__.py")
# Name of what torch_pixels.py decodes -> the most that a level may differ, and the mean.
# Debian's PyTorch computes in float32 and rounds once, Pillow after each direction.
EXACT = (1.0, 0.4)
SAME = {
    "stretched": EXACT,
    "larger": EXACT,
    "as it is": EXACT,
    "grey": EXACT,
    "float32": EXACT,
    "normalised": EXACT,
    "padded": EXACT,
    "a line": EXACT,
    # At a border Pillow looks at what is beyond it, and cuts along parts of pixels.
    "cropped": (10.0, 0.5),
    "cropped between pixels": (40.0, 3.0),
    **{f"turned {turned}": EXACT for turned in range(1, 9)},
}
LEFT = ("png", "four colours", "no end", "augmented", "transformed", "to scale", "one channel")


@pytest.fixture(scope="module")
def found() -> Mapping[str, Any]:
    if not TORCHVISION.exists():
        told = pytest.fail if os.environ.get("CI") else pytest.skip
        told("no torchvision for /usr/bin/python3: apt-get install python3-torchvision")
    said = torch_programs.ended(torch_programs.start("../pictures/torch_pixels.py"))
    return torch_programs.results(said)


@pytest.mark.parametrize(("name", "bound"), SAME.items(), ids=SAME)
def test_pixels_are_pillows_but_for_rounding(
    found: Mapping[str, Any], name: str, bound: tuple[float, float]
) -> None:
    by_torch, most, mean = found["same"][name]
    assert by_torch
    assert (most <= bound[0], mean <= bound[1]) == (True, True), (most, mean)


def test_no_case_is_left_out(found: Mapping[str, Any]) -> None:
    assert (set(found["same"]), set(found["left"])) == (set(SAME), set(LEFT))


@pytest.mark.parametrize("name", LEFT)
def test_what_torchvision_cannot_do_is_pillows(found: Mapping[str, Any], name: str) -> None:
    assert found["left"][name] == [False, 0.0]


def test_a_broken_jpeg_is_told_in_pillows_words(found: Mapping[str, Any]) -> None:
    assert found["broken"].startswith("cannot be decoded: ")


def test_without_torchvision_or_torch_pillow_decodes_and_without_torchscript_torchvision(
    found: Mapping[str, Any],
) -> None:
    assert found["without"] == {
        "torch": True,
        "torchvision": True,
        "libjpeg": True,
        "script": True,
    }


def test_one_broken_file_of_several_is_left_and_no_other(found: Mapping[str, Any]) -> None:
    assert found["together"] == [True, False, False, True, False]

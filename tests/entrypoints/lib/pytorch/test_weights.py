"""First weights out of files and frozen layers of PyTorch's models, by Debian's PyTorch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.strategies.torch_ranks import PYTHON, environment, need_torch
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

CASES = Path(__file__).with_name("weights_cases.py")
SECONDS = 180.0
REFUSED = {
    "absent": "absent.pt: cannot be read: No such file or directory.",
    "cut": "cut.pt: is cut or damaged: ",
    "page": "page.pt: is no file that torch.save has written.",
    "broken": "broken.pt: is cut or damaged: IndexError: ",
    "program": "model.pt: is a program (TorchScript), and none is run for its weights; once: ",
    "harmful": "harmful.pt: holds more than tensors, and nothing of it is run; save ",
    "nameless": "nameless.pt: holds no tensors by name.",
    "remote": "gs://bucket/weights.pt: is no file of this machine.",
    "download": "imagenet: this script downloads nothing; give torchvision's file",
    "another model": "plain.pt: has no weights of this model: 2 of 2 tensors are missing, 2.weight",
    "other images": "plain.pt: 1.weight is of 32x3x3x3, and this model for these images expects "
    "32x1x3x3. Give another file, or ",
    "too many": "--freeze 3: this model has 2 layers with weights before its head; expected at",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    need_torch()
    done = subprocess.run(
        [str(PYTHON), str(CASES), str(tmp_path_factory.mktemp("weights"))],
        env={**environment(), "PYTHONPATH": str(ENTRYPOINTS)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_a_state_dict_is_found_by_whatever_stands_before_its_names(
    found: Mapping[str, Any],
) -> None:
    assert found["all of them"] == [True, True, True]


def test_a_head_of_other_classes_is_a_fresh_one(found: Mapping[str, Any]) -> None:
    assert found["other classes"] == [True, False]


def test_weights_of_torchvision_see_pixels_as_it_prepares_them_also_after_export_and_reading_again(
    found: Mapping[str, Any],
) -> None:
    assert [found[case] for case in ("as torchvision's", "again", "exported")] == [True] * 3
    assert found["grey"] == [2, 10]


def test_what_is_frozen_keeps_weights_and_statistics_and_the_rest_learns(
    found: Mapping[str, Any],
) -> None:
    at_rest = {"conv1.weight": False, "bn1.weight": False, "running_mean": False}
    assert found["body frozen"] == {**at_rest, "3.weight": True}
    assert found["one frozen"] == {
        **dict.fromkeys(at_rest, True),
        "conv1.weight": False,
        "3.weight": True,
    }
    assert found["dropout in training"] == [True]
    assert found["moving"] == [2, 2, 0]


def test_a_last_batch_of_one_picture_can_be_normalised(found: Mapping[str, Any]) -> None:
    assert found["one picture"] == [True, True]


def test_a_checkpoint_belongs_to_its_weights_and_to_what_is_frozen(
    found: Mapping[str, Any],
) -> None:
    assert found["chosen"] == [[], ["first weights"], ["first weights", "frozen"]]


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_does_not_serve_is_one_line(found: Mapping[str, Any], case: str) -> None:
    line = found["refused"][case]
    assert REFUSED[case] in line
    assert "\n" not in line


def test_nothing_in_a_file_is_executed(found: Mapping[str, Any]) -> None:
    assert not found["executed"]

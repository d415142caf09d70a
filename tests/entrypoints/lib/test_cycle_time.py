from __future__ import annotations

import pytest

from entrypoints.lib.cycle_time import AUTOTUNE, VARIABLE, cycle_time
from entrypoints.lib.options.models import MODELS


@pytest.mark.parametrize(
    ("model", "gpus", "environment", "expected"),
    [
        ("resnet50", 0, {}, "10"),
        ("efficientnetb0", 0, {}, "10"),
        ("efficientnetb0", 0, {VARIABLE: ""}, "10"),
        ("efficientnetb0", 0, {VARIABLE: "5"}, None),  # what the user said, or a crowded rehearsal
        ("efficientnetb0", 0, {AUTOTUNE: "1"}, None),
        ("efficientnetb0", 1, {}, None),
        ("cnn", 0, {}, None),
        ("mlp", 0, {}, None),
    ],
)
def test_ranks_without_a_gpu_speak_less_often_where_steps_are_long(
    model: str, gpus: int, environment: dict[str, str], expected: str | None
) -> None:
    assert model in MODELS
    assert cycle_time(model, gpus, environment) == expected

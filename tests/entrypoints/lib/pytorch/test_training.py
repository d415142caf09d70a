"""What train_torch.py makes of samples that are unequally many, and of dropout, on each rank."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.entrypoints.lib.mnist_format import write_data_set
from tests.entrypoints.strategies.torch_ranks import PYTHON, environment, need_torch
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

CASES = Path(__file__).with_name("training_cases.py")
SECONDS = 180.0
SHARES = [23, 22]  # of two ranks in batches of 22: one sample is a step


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    need_torch()
    folder, draw = tmp_path_factory.mktemp("training"), np.random.RandomState(0)
    split = draw.randint(0, 256, (sum(SHARES), 8, 8)), draw.randint(0, 3, sum(SHARES))
    write_data_set(folder, split, split)
    done = subprocess.run(
        [str(PYTHON), str(CASES), str(folder)],
        env={**environment(), "PYTHONPATH": str(ENTRYPOINTS)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.parametrize("remainder", ["uneven", "pad"])
def test_two_ranks_have_the_mean_over_their_samples_to_tell_and_how_many_those_are(
    found: Mapping[str, Any], remainder: str
) -> None:
    first, second = found[remainder]
    assert len(first) == len(second) == 2
    for epoch in zip(first, second, strict=True):
        assert [samples for samples, *_ in epoch] == SHARES
        means = np.average([one[1:] for one in epoch], axis=0, weights=SHARES)
        assert means == pytest.approx(found["all"], rel=1e-5)


def test_dropout_differs_from_rank_to_rank_and_is_the_same_in_each_run_of_a_seed(
    found: Mapping[str, Any],
) -> None:
    assert found["masks are equal"] == {
        "of two ranks": False,
        "of two runs": True,
        "of two seeds": False,
    }
    assert found["weights are equal"]

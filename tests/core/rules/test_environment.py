"""Which variables `--env` may set."""

from __future__ import annotations

import pytest

from launchers.core.rules.environment import problems_in_names

REFUSED = [
    "LAUNCH_WORLD_SIZE",
    "LAUNCH_ANYTHING",
    "SM_HOSTS",
    "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK",
    "CUDA_VISIBLE_DEVICES",
    "HOROVOD_RANK",
    "HOROVOD_SIZE",
    "HOROVOD_CONTROLLER",
]


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_the_launcher_sets_is_refused(name: str):
    assert [problem.rule for problem in problems_in_names({name: "1"})] == ["env-reserved"]


@pytest.mark.parametrize(
    "name", ["A", "NCCL_DEBUG", "HOROVOD_TIMELINE", "HOROVOD_FUSION_THRESHOLD"]
)
def test_other_names_pass(name: str):
    assert problems_in_names({name: "1"}) == []


def test_a_value_that_no_environment_can_hold_is_refused():
    assert [problem.rule for problem in problems_in_names({"A": "a\0b"})] == ["env-nul"]

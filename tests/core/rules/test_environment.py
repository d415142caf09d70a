"""Which variables `--env` may set."""

from __future__ import annotations

import pytest

from launchers.core.rules.environment import problems_in_names, problems_in_proof
from launchers.core.strategies import NAMES

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


@pytest.mark.parametrize("name", ["toch", "", "Torch", None])
def test_a_document_names_a_strategy_that_there_is(name: object):
    (problem,) = problems_in_proof({"LAUNCH_STRATEGY": name}, "$.Environment")
    assert (problem.rule, problem.path) == ("strategy-name", "$.Environment.LAUNCH_STRATEGY")
    for known in NAMES:
        assert problems_in_proof({"LAUNCH_STRATEGY": known}, "$.Environment") == []


def test_a_document_starts_one_process_a_host_where_its_strategy_has_no_more() -> None:
    variables = {"LAUNCH_STRATEGY": "tensorflow", "LAUNCH_PROCESSES": "2"}

    (problem,) = problems_in_proof(variables, "$.Environment")

    assert (problem.rule, problem.path) == ("strategy-processes", "$.Environment.LAUNCH_PROCESSES")
    assert problem.found.startswith("2, and TensorFlow's strategy has one process a host")
    for right in (
        {**variables, "LAUNCH_PROCESSES": "1"},
        {**variables, "LAUNCH_STRATEGY": "torch"},
    ):
        assert problems_in_proof(right, "$.Environment") == []

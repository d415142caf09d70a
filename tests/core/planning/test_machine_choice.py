"""What is said where a request names no machine, or none that exists."""

from __future__ import annotations

import pytest

from launchers.core.planning.machine_choice import (
    counts_disagree,
    default_origin,
    no_default,
    nothing_asked,
    rank_problems,
    unknown_machine,
)
from launchers.core.spec.job import JobSpec


def test_a_default_says_why_it_is_one():
    assert default_origin(JobSpec(gpus=1), "the cheapest") == "default for 1 GPU: the cheapest"
    assert default_origin(JobSpec(gpus=8), "the newest") == "default for 8 GPUs: the newest"
    elsewhere = JobSpec(gpus=8, origins={"gpus": "launch.yaml"})
    assert default_origin(elsewhere, "the newest") == "launch.yaml, default for 8 GPUs: the newest"


def test_neither_count_nor_machine_is_an_error_of_the_count():
    assert (nothing_asked().rule, nothing_asked().path) == ("gpus-missing", "--gpus")


def test_a_count_without_a_default_names_the_machines_or_the_counts():
    several = no_default(8, ["p3.16xlarge", "p4d.24xlarge"], [1, 8])
    assert several.expected == "--machine, one of p3.16xlarge, p4d.24xlarge"
    assert no_default(3, [], [8, 1, 4]).expected == "a count that a machine has: 1, 4, 8"


def test_a_machine_that_no_table_knows_keeps_its_name():
    problem = unknown_machine("ml.p9", "an instance type", "launch machines lists them")
    assert (problem.rule, problem.found) == ("machine-unknown", "ml.p9")


def test_count_and_machine_have_to_agree():
    problem = counts_disagree("ml.p3.2xlarge", 1, 4, ["ml.p3.8xlarge"])
    assert problem.found == "ml.p3.2xlarge has 1 GPU, --gpus says 4"
    assert problem.fix == "machines with 4 GPUs: ml.p3.8xlarge"
    assert counts_disagree("m", 1, 3, []).fix == "machines with 3 GPUs: none"


@pytest.mark.parametrize(("processes", "gpus"), [(1, 1), (4, 4), (3, 4), (64, 0)])
def test_as_many_ranks_as_gpus_or_none_at_all(processes, gpus):
    assert rank_problems(processes, gpus) == []


def test_more_ranks_than_gpus_are_refused_with_the_number_that_fits():
    (problem,) = rank_problems(5, 4, ", or --gpus 8")
    assert problem.rule == "ranks-above-gpus"
    assert problem.found == "5 ranks on 4 GPUs"
    assert problem.fix == "--processes 4, or --gpus 8"

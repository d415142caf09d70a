"""MPI options are an allow-list: what may end a container without training never gets through."""

from __future__ import annotations

import pytest

from launchers.sagemaker.rules.mpi_options import exported, problems_in

ALLOWED = [
    "",
    "-x NCCL_DEBUG=INFO",
    "-verbose -x NCCL_DEBUG=INFO",
    "-x A -x B=1 --mca btl_vader_single_copy_mechanism none",
    "-mca btl ^openib",
    "-x URL=http://x/y#frag?a=b",
    "-x A=",
]
REFUSED = [
    "--mca a -h",
    "--mca a --help",
    "--mca -h x",
    "-x -h",
    "-x LD_PRELOAD=x",
    "-x PATH=/x",
    "-x PYTHONPATH=/x",
    "-h",
    "--h",
    "--help",
    "-host a",
    "--host a:4",
    "--hos a",
    "-H a",
    "-hostfile x",
    "--hostf x",
    "-n 1",
    "-np 1",
    "--np 1",
    "-c 1",
    "--NCCL_DEBUG=INFO",
    "--N x",
    "-x",
    "--mca a",
    "-x A=b c",
    "-x 1A",
    "-x =b",
    "--tag-output",
    "--oversubscribe",
    "stray",
    "; rm -rf /",
    "-x A\n-x B",
    "--mca mca_base_env_list A=1;B=2",
    "-mca mca_base_env_list A=1",
    "--mca orte_abort_on_non_zero_status 0",
    "--",
    "-",
]
RESERVED = [
    "LAUNCH_WORLD_SIZE",
    "SM_HOSTS",
    "OMPI_X",
    "PMIX_X",
    "CUDA_VISIBLE_DEVICES",
    "HOROVOD_SIZE",
    "HOROVOD_CONTROLLER",
]


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_on_the_list_passes(text: str):
    assert problems_in(text, "p") == []


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_on_the_list_is_refused(text: str):
    problems = problems_in(text, "p")
    assert problems
    assert {problem.severity for problem in problems} == {"error"}


@pytest.mark.parametrize("text", ["-h", "-host a", "--hostfile x", "-n 1"])
def test_what_the_toolkit_eats_is_told_with_what_it_does(text: str):
    assert "exit code 0 and no training" in problems_in(text, "p")[0].fix


@pytest.mark.parametrize("name", RESERVED)
def test_a_reserved_name_is_exported_only_without_a_value_and_only_if_the_document_carries_it(
    name: str,
):
    assert problems_in(f"-x {name}=1", "p", carried=[name])
    assert problems_in(f"-x {name}", "p", carried=[])
    assert problems_in(f"-x {name}", "p", carried=[name]) == []


def test_the_names_that_reach_every_rank_are_read_in_order():
    assert exported("-verbose -x B=1 --mca a b -x A") == ["B", "A"]

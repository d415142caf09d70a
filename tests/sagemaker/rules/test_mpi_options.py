"""MPI options are an allow-list: what may end a container without training never gets through."""

from __future__ import annotations

import pytest

from launchers.sagemaker.starts.mpi_options import exported, problems_in

ALLOWED = [
    "",
    "-x NCCL_DEBUG=INFO",
    "-verbose -x NCCL_DEBUG=INFO",
    "-x A -x B=1 --mca btl_vader_single_copy_mechanism none",
    "-mca btl ^openib",
    "-x URL=http://x/y#frag?a=b",
    "-x A=",
    "-x OMPI_MCA_btl_vader_single_copy_mechanism=none",
    "--NCCL_DEBUG=INFO",
    "--NCCL_DEBUG WARN",
    "--tag-output --report-bindings --oversubscribe",
    "-bind-to none -map-by slot",
    "--verbose --output-filename /opt/ml/output/ranks",
    "--output-filename ppr-logs",
    "-xml -xml-file ranks.xml",
    "-x PATH -x LD_PRELOAD",
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
    "--N x",
    "-x",
    "--mca a",
    "-x A=b c",
    "-x 1A",
    "-x =b",
    "--no-such-option",
    "--output-filename",
    "--output-filename -h",
    "-N 4",
    "--version",
    "-map-by ppr:2:node",
    "--mca btl tcp,self",
    "--mca pml cm",
    "--NCCL_DEBUG=INFO -np 1",
    "-x OMPI_MCA_mca_base_env_list=A=1",
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


# What AWS's own examples say, and what differs from it in the ranks that start.
ELSEWHERE = [
    (
        "-verbose -x HOROVOD_TIMELINE=./t.json -x OMPI_MCA_btl_vader_single_copy_mechanism=none",
        [],
    ),
    ("--NCCL_DEBUG=INFO", []),
    ("-x SM_HOSTS=a -x LAUNCH_WORLD_SIZE=1 -x PATH=/x", ["warning"]),
    ("-x HOROVOD_SIZE=1", ["warning"]),
    ("--no-such-option 3 -x A=1", ["warning"]),
    ("--map-by ppr:4:node", ["warning"]),
    ("-np 2", ["error"]),
    ("-npernode 2", ["error"]),
    ("--host a:4", ["error"]),
    ("-hostfile x", ["error"]),
    ("-h", ["error"]),
    ("--version", ["error"]),
    ("--mca btl tcp,self", ["error"]),
    ("-x A\n-x B", []),
    ("-x CUDA_VISIBLE_DEVICES=0 -x LD_LIBRARY_PATH=/x", []),
    ("-x LD_PRELOAD=x", ["error"]),
    ("-x OMPI_MCA_mca_base_env_list=A=1", ["warning"]),
    # The values of an unknown option are its own; a word that none takes would be the program.
    ("--no-such-option", ["warning"]),
    ("--no-such-option 3 4 --other", ["warning", "warning"]),
    ("--version 3", ["error", "error"]),
    ("stray 3", ["error", "error"]),
]


@pytest.mark.parametrize(("text", "severities"), ELSEWHERE)
def test_in_a_document_from_elsewhere_only_what_does_harm_is_an_error(
    text: str, severities: list[str]
):
    assert [problem.severity for problem in problems_in(text, "p", own=False)] == severities


@pytest.mark.parametrize(
    "text", ["-h", "-hx", "-host a", "--hostfile x", "--hostfile=x", "--hos a", "--h", "-n 1"]
)
def test_what_the_toolkit_eats_is_told_with_what_it_does(text: str):
    assert "exit code 0 and no training" in problems_in(text, "p")[0].fix
    assert "--instances and --processes" in problems_in(text, "p")[0].fix
    assert problems_in(text, "p", own=False)[0].fix.startswith("it changes which ranks start")


@pytest.mark.parametrize(
    ("text", "found", "fix"),
    [
        ("--no-such-option=3", "--no-such-option=3", "leave it out"),
        ("--", "--", "leave it out"),
        ("--hx", "--hx", "leave it out"),
        ("-x A=b c", "c", "a value with a blank is split"),
        ("-x", "-x without its value", ""),
        ("--mca a", "--mca without its key and value", ""),
        ("--mca a -h", "-h", "the container's toolkit treats it as its own option"),
        ("-map-by ppr:2:node", "-map-by ppr:2:node", "it limits the ranks of a host"),
        ("-x A\n-x B", "a line break", ""),
        ("--" + "x" * 100, "--" + "x" * 58, "leave it out"),
        ("--host=" + "x" * 100, "--host=" + "x" * 53, "the container's toolkit treats it"),
        ("x" * 100, "x" * 60, "a value with a blank is split"),
    ],
)
def test_a_refused_word_is_told_with_what_to_do_instead(text: str, found: str, fix: str):
    (problem,) = problems_in(text, "p")
    assert problem.found == found
    assert problem.fix.startswith(fix) if fix else problem.fix == ""


def test_in_our_own_options_each_word_that_is_not_allowed_is_told():
    told = [problem.found for problem in problems_in("--no-such-option 3 4 -np 2", "p")]
    assert told == ["--no-such-option", "3", "4", "-np", "2"]


@pytest.mark.parametrize("name", RESERVED)
def test_a_reserved_name_is_exported_only_without_a_value_and_only_if_the_document_carries_it(
    name: str,
):
    assert problems_in(f"-x {name}=1", "p", carried=[name])
    assert problems_in(f"-x {name}", "p", carried=[])
    assert problems_in(f"-x {name}", "p", carried=[name]) == []


def test_of_more_options_than_the_service_takes_the_first_are_read():
    text = "-x A " * 100_000
    assert (len(exported(text)), problems_in(text, "$")) == (1_250, [])


def test_the_names_that_reach_every_rank_are_read_in_order():
    assert exported("-verbose -x B=1 --mca a b -x A") == ["B", "A"]
    assert exported("-xml -x A --no-such-option 3 -x B=c=d -bind-to none") == ["A", "B"]


def test_a_password_among_the_options_is_not_shown():
    (problem,) = problems_in("--password=hunter2secretvalue", "$", own=False)
    assert problem.found.startswith("--password=***")

"""What a request that is not ours starts, by what the service's own toolkits do with it."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.core.model.problems import errors
from launchers.sagemaker.rules.document import check
from launchers.sagemaker.starts.read import start_of

REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
PYTORCH = f"{REGISTRY}/pytorch-training:2.5.1-gpu-py311"
OLD_PYTORCH = f"{REGISTRY}/pytorch-training:1.12.0-gpu-py38"
TENSORFLOW = f"{REGISTRY}/tensorflow-training:2.12.0-gpu-py310"
OWN = "123456789012.dkr.ecr.us-east-1.amazonaws.com/trainer:1"
G5, P4, CPU, TRN = "ml.g5.12xlarge", "ml.p4d.24xlarge", "ml.c5.xlarge", "ml.trn1.32xlarge"
MPI = {"sagemaker_mpi_enabled": "true"}
EACH = "sagemaker_mpi_num_of_processes_per_host"
FOUR = {EACH: "4"}
TORCHRUN = {"sagemaker_torch_distributed_enabled": "true"}
DATA_PARALLEL = {"sagemaker_distributed_dataparallel_enabled": "true"}
DDP = {"sagemaker_pytorch_ddp_enabled": "true"}
XLA = {"sagemaker_pytorch_xla_multi_worker_enabled": "true"}
MIRRORED = {"sagemaker_multi_worker_mirrored_strategy_enabled": "true"}
SERVERS = {"sagemaker_parameter_server_enabled": "true"}
ONE = {"sagemaker_distribution_instance_groups": '["g1"]'}
BOTH = {"sagemaker_distribution_instance_groups": '["g1", "g2"]'}


def request(
    image: str = PYTORCH,
    *flags: dict[str, str],
    hosts: int = 2,
    machine: str = G5,
    groups: tuple[tuple[str, int], ...] = (),
    program: str = "train.py",
    **environment: str,
) -> dict[str, Any]:
    resources: dict[str, Any] = {"VolumeSizeInGB": 30}
    if groups:
        resources["InstanceGroups"] = [
            {"InstanceGroupName": f"g{i}", "InstanceType": kind, "InstanceCount": count}
            for i, (kind, count) in enumerate(groups, 1)
        ]
    else:
        resources |= {"InstanceType": machine, "InstanceCount": hosts}
    values = {"sagemaker_program": f'"{program}"', "epochs": "3"}
    for one in flags:
        values |= one
    return {
        "TrainingJobName": "job",
        "AlgorithmSpecification": {"TrainingImage": image, "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::123456789012:role/SageMaker",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/"},
        "ResourceConfig": resources,
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "HyperParameters": values,
        **({"Environment": environment} if environment else {}),
    }


G5_GROUPS = ((G5, 2), (G5, 1))
# Name: (request, ranks, a part of why, rules broken).
STARTS: dict[str, tuple[dict[str, Any], int | None, str, list[str]]] = {
    "MPI": (request(TENSORFLOW, MPI, FOUR), 8, "MPI over 2 hosts x 4 processes", []),
    "MPI without a count is one a GPU": (request(TENSORFLOW, MPI), 8, "2 hosts x 4", []),
    "MPI without a count on CPUs": (request(TENSORFLOW, MPI, machine=CPU), 2, "1 process", []),
    "MPI in an image of one's own": (request(OWN, MPI, FOUR), 8, "2 hosts x 4", []),
    "groups with the key": (
        request(TENSORFLOW, MPI, FOUR, ONE, groups=G5_GROUPS),
        8,
        "MPI over 2 hosts x 4 processes of group g1; group g2 (1 host) runs the program outside",
        [],
    ),
    "groups that are all named": (
        request(TENSORFLOW, MPI, FOUR, BOTH, groups=G5_GROUPS), 12, "3 hosts x 4", [],
    ),
    "groups without the key": (
        request(TENSORFLOW, MPI, FOUR, groups=G5_GROUPS),
        None,
        "each of 2 instance groups starts a job of its own: 8 in g1, 4 in g2",
        ["distribution-groups"],
    ),
    "groups alike without the key": (
        request(TENSORFLOW, MPI, FOUR, groups=((G5, 1), (G5, 1))),
        4,
        "each of 2 instance groups",
        ["distribution-groups"],
    ),
    "a name that no group has": (
        request(TENSORFLOW, MPI, FOUR, {next(iter(ONE)): '["g3"]'}, groups=G5_GROUPS),
        1,
        "runs train.py by itself",
        ["distribution-groups"],
    ),
    "names that are no list": (
        request(TENSORFLOW, MPI, FOUR, {next(iter(ONE)): "3"}, groups=G5_GROUPS),
        None,
        "is no list",
        ["distribution-groups"],
    ),
    "data workers without GPUs outside": (
        request(PYTORCH, TORCHRUN, ONE, groups=((P4, 2), (CPU, 3))),
        16,
        "torchrun over 2 hosts x 8 processes of group g1; group g2 (3 hosts)",
        [],
    ),
    "mpirun takes the first host's GPUs for all": (
        request(TENSORFLOW, MPI, BOTH, groups=((G5, 1), (P4, 1))),
        8,
        "2 hosts x 4 processes",
        [],
    ),
    "torchrun takes each host's own": (
        request(PYTORCH, TORCHRUN, BOTH, groups=((G5, 1), (P4, 1))),
        12,
        "1 host x 4 processes + 1 host x 8 processes",
        [],
    ),
    "torchrun": (request(PYTORCH, TORCHRUN), 8, "torchrun over 2 hosts x 4 processes", []),
    "torchrun with a count": (request(PYTORCH, TORCHRUN, {EACH: "2"}), 4, "2 hosts x 2", []),
    "torchrun on CPUs": (request(PYTORCH, TORCHRUN, machine=CPU), 2, "2 hosts x 1 process", []),
    "torchrun on one host": (request(PYTORCH, TORCHRUN, hosts=1), 4, "1 host x 4", []),
    "torchrun in an image of one's own": (
        request(OWN, TORCHRUN), None, "does nothing in an image without AWS's framework module", [],
    ),
    "torchrun where the request names the module": (
        request(
            OWN, TORCHRUN, SAGEMAKER_TRAINING_MODULE="sagemaker_pytorch_container.training:main"
        ),
        8,
        "torchrun over 2 hosts",
        [],
    ),
    "torchrun in an image of TensorFlow": (
        request(TENSORFLOW, TORCHRUN),
        1,
        "sagemaker_torch_distributed_enabled does nothing in a TensorFlow image",
        ["distribution-ignored"],
    ),
    "torchrun in an image older than it": (request(OLD_PYTORCH, TORCHRUN), None, "1.13", []),
    "torchrun with a shell script": (
        request(PYTORCH, TORCHRUN, program="run.sh"), None, "refuses run.sh", ["program-python"],
    ),
    "torchrun on accelerators that only the container counts": (
        request(PYTORCH, TORCHRUN, machine=TRN), None, "their number is not known", [],
    ),
    "smdistributed": (
        request(OLD_PYTORCH, DATA_PARALLEL, machine=P4), 16, "smdistributed's mpirun", [],
    ),
    "pytorchddp": (request(OLD_PYTORCH, DDP, machine=P4), 16, "pytorchddp", []),
    "PyTorch/XLA": (request(OLD_PYTORCH, XLA, {EACH: "1"}, machine=P4), 16, "XLA over 2", []),
    "MultiWorkerMirrored": (
        request(f"{REGISTRY}/tensorflow-training:2.16-gpu-py310", MIRRORED),
        2,
        "TF_CONFIG for MultiWorkerMirrored over 2 hosts x 1 process",
        [],
    ),
    "MultiWorkerMirrored in an image of PyTorch": (
        request(PYTORCH, MIRRORED), 1, "does nothing in a PyTorch image", ["distribution-ignored"],
    ),
    "parameter servers": (
        request(TENSORFLOW, SERVERS), 2, "a server beside each worker over 2 hosts", [],
    ),
    "parameter servers on one host": (
        request(TENSORFLOW, SERVERS, hosts=1, machine=CPU), 1, "runs train.py once", [],
    ),
    "MPI before torchrun": (
        request(OLD_PYTORCH.replace("1.12.0-gpu-py38", "1.13.1-gpu-py39"), MPI, FOUR, TORCHRUN),
        8,
        "MPI over",
        [],
    ),
    "nothing on several hosts": (request(), 1, "no distribution is switched on", ["world-size"]),
    "nothing, and a shell script": (request(program="run.sh"), None, "may start more", []),
    "nothing, one GPU": (request(hosts=1, machine="ml.g5.xlarge"), 1, "runs train.py once", []),
    "nothing, four GPUs": (request(hosts=1), None, "only the script says the rest", []),
    "a program of the image's own": (
        {**request(OWN), "HyperParameters": {"epochs": "3"}}, None, "may start anything", [],
    ),
    "flags that are off": (
        request(PYTORCH, {"sagemaker_mpi_enabled": "false"}, {next(iter(TORCHRUN)): "0"}, hosts=1),
        None,
        "runs train.py once",
        [],
    ),
    "a count that mpirun would repeat": (
        request(TENSORFLOW, MPI, {EACH: '"4"'}), None, "no count of processes", ["mpi-processes"],
    ),
    "a whole number of processes": (
        request(TENSORFLOW, MPI, FOUR, {"sagemaker_mpi_num_processes": "1"}),
        1,
        "sagemaker_mpi_num_processes is 1",
        ["mpi-processes"],
    ),
    "a count among the MPI options": (
        request(TENSORFLOW, MPI, FOUR, {"sagemaker_mpi_custom_mpi_options": '"-np 2"'}),
        None,
        "-np among the MPI options decides",
        ["mpi-option"],
    ),
    "MPI in an image of one's own beside torchrun": (
        request(OWN, MPI, FOUR, TORCHRUN), 8, "MPI over 2 hosts x 4", [],
    ),
    "MPI with a shell script": (
        request(TENSORFLOW, MPI, FOUR, program="run.sh"), 8, "MPI over", [],
    ),
    "MPI with one rank on each host": (
        request(TENSORFLOW, MPI, {EACH: "1"}), 2, "2 hosts x 1 process", [],
    ),
    "MPI with no rank": (
        request(TENSORFLOW, MPI, {EACH: "0"}), None, "no count of processes", ["mpi-processes"],
    ),
    "MPI with a part of a rank": (
        request(TENSORFLOW, MPI, {EACH: "1.5"}), None, "no count of processes", ["mpi-processes"],
    ),
    "a text as the count of one host": (
        request(TENSORFLOW, MPI, {EACH: '"4"'}, hosts=1), 4, "1 host x 4", [],
    ),
    "a text as torchrun's count": (request(PYTORCH, TORCHRUN, {EACH: '"2"'}), 4, "2 hosts x 2", []),
    "a whole number of processes that is theirs": (
        request(TENSORFLOW, MPI, FOUR, {"sagemaker_mpi_num_processes": "8"}),
        8,
        "MPI over 2 hosts x 4",
        [],
    ),
    "an option of mpirun that is not known": (
        request(TENSORFLOW, MPI, FOUR, {"sagemaker_mpi_custom_mpi_options": '"--not-known"'}),
        8,
        "MPI over 2 hosts x 4",
        [],
    ),
    "a count among MPI options that torchrun does not read": (
        request(PYTORCH, TORCHRUN, {"sagemaker_mpi_custom_mpi_options": '"-np 2"'}),
        8,
        "torchrun over 2 hosts x 4",
        ["mpi-option"],
    ),
    "a whole number of processes that torchrun does not read": (
        request(PYTORCH, TORCHRUN, {"sagemaker_mpi_num_processes": "1"}),
        8,
        "torchrun over 2 hosts x 4",
        ["mpi-processes"],
    ),
    "other ways in an image of one's own": (
        request(OWN, TORCHRUN, DATA_PARALLEL),
        None,
        "sagemaker_torch_distributed_enabled does nothing in an image without",
        [],
    ),
    "torchrun and pytorchddp in an image of TensorFlow": (
        request(TENSORFLOW, TORCHRUN, DDP),
        1,
        "sagemaker_torch_distributed_enabled does nothing in a TensorFlow image",
        ["distribution-ignored"],
    ),
    "torchrun where the request says that there is no module": (
        request(OWN, TORCHRUN, SAGEMAKER_TRAINING_MODULE=""),
        1,
        "does nothing in an image without a framework module",
        ["distribution-ignored"],
    ),
    "MultiWorkerMirrored in the first image with it": (
        request(f"{REGISTRY}/tensorflow-training:2.9-gpu-py39", MIRRORED),
        2,
        "TF_CONFIG for MultiWorkerMirrored",
        [],
    ),
    "MultiWorkerMirrored in an image older than it": (
        request(f"{REGISTRY}/tensorflow-training:2.8.0-gpu-py39", MIRRORED), None, "2.9", [],
    ),
    "groups of which one is not counted": (
        request(PYTORCH, TORCHRUN, groups=((G5, 1), (TRN, 1))),
        None,
        "4 in g1, ? in g2",
        ["distribution-groups"],
    ),
    "a group of accelerators that only the container counts": (
        request(PYTORCH, TORCHRUN, BOTH, groups=((G5, 1), (TRN, 1))),
        None,
        f"for each accelerator of {TRN}, and their number is not known",
        [],
    ),
    "two groups outside": (
        request(TENSORFLOW, MPI, FOUR, ONE, groups=((G5, 2), (G5, 1), (CPU, 1))),
        8,
        "of group g1; groups g2 and g3 (2 hosts) runs the program outside",
        [],
    ),
    "two groups together": (
        request(TENSORFLOW, MPI, FOUR, BOTH, groups=((G5, 2), (G5, 1), (CPU, 1))), 12, "3 host", [],
    ),
    "nothing in an image of one's own": (
        request(OWN, hosts=1, machine=CPU), 1, "runs train.py once", [],
    ),
    "accelerators that only the container counts": (
        request(hosts=1, machine=TRN), None, "on a machine whose GPUs are not known", [],
    ),
    "the program of a variable": (
        request(hosts=1, SAGEMAKER_PROGRAM="main.py"), None, "runs main.py once, with 4 GPUs", [],
    ),
    "a value of another tool": (
        {**request(), "HyperParameters": {"sagemaker_mpi_enabled": {"Get": "Parameters.Mpi"}}},
        None,
        "only when the request is made",
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_what_a_request_starts_is_what_the_toolkit_makes_of_it(name: str):
    document, ranks, part, rules = STARTS[name]
    start = start_of(document)
    assert (start.ranks, part in start.because) == (ranks, True), start
    found = {one.rule for one in errors(check(document))}
    assert {rule for rule in found if not rule.startswith(("model-", "image-"))} == set(rules)


@pytest.mark.parametrize("name", STARTS)
def test_what_was_meant_is_held_against_it(name: str):
    document, ranks, _, rules = STARTS[name]
    told = [one for one in check(document, 7) if one.rule == "world-size"]
    if ranks is None and not rules:
        once = "once" in start_of(document).because
        assert [one.severity for one in told] == ["error" if once else "unknown"]
    elif not rules:
        assert [one.severity for one in told] == ["error"]
        assert [one for one in check(document, ranks) if one.rule == "world-size"] == []


FORMS = {
    "True": "warning", "1": "warning", '"true"': "warning", '"yes"': "warning", "yes": "warning",
    "False": "error", '"false"': "error", '"no"': "error", "true": "",
    "false": "", "0": "", "null": "", "[]": "",
}  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("flag", [next(iter(MPI)), next(iter(TORCHRUN))])
def test_a_flag_is_read_as_the_toolkit_reads_it(flag: str, text: str):
    document = request(PYTORCH, {flag: text}, hosts=1)
    rule = "mpi-enabled" if flag == next(iter(MPI)) else "distribution-flag"
    told = [one.severity for one in check(document) if one.rule == rule]
    assert told == ([FORMS[text]] if FORMS[text] else [])
    is_on = text not in ("false", "0", "null", "[]")
    assert (start_of(document).ranks == 4) == is_on


UNSAID: list[tuple[str, dict[str, str], str]] = [
    (TENSORFLOW, MPI, "MPI over hosts whose number is not said"),
    (TENSORFLOW, MPI | {EACH: '"4"'}, "is no count of processes"),
    (TENSORFLOW, SERVERS, "the number of hosts is not said"),
    (PYTORCH, TORCHRUN, "torchrun over hosts whose number is not said"),
    (PYTORCH, {}, "the number of hosts is not said"),
]


@pytest.mark.parametrize(("image", "flags", "part"), UNSAID)
def test_hosts_that_are_not_said_are_not_counted(image: str, flags: dict[str, str], part: str):
    document = request(image, flags)
    del document["ResourceConfig"]["InstanceCount"]
    start = start_of(document)
    assert (start.ranks, start.placed) == (None, ())
    assert part in start.because


def test_groups_outside_that_are_not_counted_are_named_all_the_same():
    document = request(TENSORFLOW, MPI, FOUR, ONE, groups=G5_GROUPS)
    del document["ResourceConfig"]["InstanceGroups"][1]["InstanceCount"]
    start = start_of(document)
    assert start.ranks == 8
    assert "group g2 (its hosts) runs the program outside" in start.because


def test_a_host_alone_is_judged_by_its_own_machine_and_not_by_an_empty_group():
    start = start_of(request(groups=((G5, 0), ("ml.g5.xlarge", 1))))
    assert start.ranks == 1
    assert start_of(request(groups=(("ml.g5.xlarge", 1), (G5, 0)))).ranks == 1


@pytest.mark.parametrize(
    ("flags", "ranks", "part"),
    [
        (TORCHRUN, 8, "torchrun over 2 hosts"),
        (DDP, 8, "smdistributed's mpirun (pytorchddp) over 2 hosts"),
        ({}, 1, "each of 2 hosts runs the program by itself"),
    ],
)
def test_where_no_program_is_said_the_hosts_are_counted_all_the_same(
    flags: dict[str, str], ranks: int, part: str
):
    document = request(PYTORCH, flags)
    del document["HyperParameters"]["sagemaker_program"]
    start = start_of(document)
    assert start.ranks == ranks
    assert part in start.because


def test_a_machine_that_is_not_said_is_told_as_such():
    document = request(PYTORCH, TORCHRUN)
    del document["ResourceConfig"]["InstanceType"]
    assert "each accelerator of its machine" in start_of(document).because


@pytest.mark.parametrize(
    ("value", "is_open"),
    [({"Get": "Parameters.X"}, True), (["Get"], True), ({}, False), ([], False), (4, False)],
)
@pytest.mark.parametrize("name", [EACH, "sagemaker_mpi_num_processes", next(iter(TORCHRUN))])
def test_only_an_expression_has_its_value_later(name: str, value: Any, is_open: bool):
    document = request(PYTORCH, MPI)
    document["HyperParameters"][name] = value
    start = start_of(document)
    assert (start.way == "unknown") == is_open
    assert (f"{name} has its value only when" in start.because) == is_open


@pytest.mark.parametrize(
    ("flags", "program", "rule"),
    [
        (TORCHRUN, "x" * 100, "program-python"),
        (MPI | {next(iter(ONE)): f'["{"x" * 100}"]'}, "train.py", "distribution-groups"),
        (MPI | {next(iter(ONE)): "1" * 100}, "train.py", "distribution-groups"),
    ],
)
def test_a_long_value_is_shown_by_its_first_sixty_characters(
    flags: dict[str, str], program: str, rule: str
):
    (problem,) = start_of(request(PYTORCH, flags, program=program)).problems
    assert problem.rule == rule
    assert len(problem.found.partition(",")[0]) == 60

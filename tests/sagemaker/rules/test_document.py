"""The rules of a CreateTrainingJob request: every broken one is told, with its path."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from launchers.core.model.problems import errors
from launchers.sagemaker.rules.document import check
from launchers.sagemaker.starts.read import start_of
from tests.sagemaker.documents import captured, plain

Document = dict[str, Any]
MINIMAL, FULL = "v2_tf_mpi_minimal.json", "v2_tf_mpi_full.json"


def hyper(name: str, text: str | None) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        if text is None:
            document["HyperParameters"].pop(name)
        else:
            document["HyperParameters"][name] = text

    return change


def put(path: str, value: Any) -> Callable[[Document], None]:
    *folders, last = path.split(".")

    def change(document: Document) -> None:
        for folder in folders:
            document = document.setdefault(folder, {})
        document[last] = value

    return change


def test_our_own_request_breaks_no_rule():
    assert check(plain()) == []


@pytest.mark.parametrize("name", [MINIMAL, FULL])
def test_what_the_sdk_sends_for_mpi_breaks_no_rule(name: str):
    assert check(captured(name)) == check(captured(name), world_size=8) == []


OPTIONS = "sagemaker_mpi_custom_mpi_options"
GROUPS = [{"InstanceGroupName": "a", "InstanceType": "ml.g5.12xlarge", "InstanceCount": 2}]
BROKEN: list[tuple[str, Callable[[Document], None], str, str]] = [
    (
        "a misspelt key",
        put("EnableManagedSpotTrainig", True),
        "$.EnableManagedSpotTrainig",
        "model-key",
    ),
    (
        "a misspelt inner key",
        put("ResourceConfig.InstanceCont", 2),
        "$.ResourceConfig.InstanceCont",
        "model-key",
    ),
    ("no name", lambda d: d.pop("TrainingJobName"), "$.TrainingJobName", "model-missing"),
    (
        "a name that is too long",
        put("TrainingJobName", "a" * 64),
        "$.TrainingJobName",
        "model-length",
    ),
    (
        "a name with an underscore",
        put("TrainingJobName", "a_b"),
        "$.TrainingJobName",
        "model-pattern",
    ),
    (
        "a count as text",
        put("ResourceConfig.InstanceCount", "2"),
        "$.ResourceConfig.InstanceCount",
        "model-type",
    ),
    (
        "no instances",
        put("ResourceConfig.InstanceCount", 0),
        "$.ResourceConfig.InstanceCount",
        "instances",
    ),
    *(
        (
            f"{count} instances",
            put("ResourceConfig.InstanceCount", count),
            "$.ResourceConfig.InstanceCount",
            "instances",
        )
        for count in (-2, 10**12, 10**30)
    ),
    (
        "no such machine",
        put("ResourceConfig.InstanceType", "ml.g5.13xlarge"),
        "$.ResourceConfig.InstanceType",
        "model-enum",
    ),
    ("a role that is none", put("RoleArn", "<role>"), "$.RoleArn", "model-"),
    (
        "spot without a wait",
        put("EnableManagedSpotTraining", True),
        "$.StoppingCondition.MaxWaitTimeInSeconds",
        "spot-wait",
    ),
    (
        "a wait without spot",
        put("StoppingCondition.MaxWaitTimeInSeconds", 90000),
        "$.StoppingCondition.MaxWaitTimeInSeconds",
        "spot-wait",
    ),
    (
        "29 days",
        put("StoppingCondition.MaxRuntimeInSeconds", 29 * 86400),
        "$.StoppingCondition.MaxRuntimeInSeconds",
        "runtime-limit",
    ),
    (
        "101 hyperparameters",
        lambda d: d["HyperParameters"].update({f"h{i}": "1" for i in range(101)}),
        "$.HyperParameters",
        "model-length",
    ),
    ("a value over 2,500", hyper("long", "x" * 2501), "$.HyperParameters.long", "model-length"),
    (
        "a channel twice",
        lambda d: d["InputDataConfig"].append(d["InputDataConfig"][0]),
        "$.InputDataConfig[1].ChannelName",
        "channel-twice",
    ),
    ("an aws: tag", put("Tags", [{"Key": "aws:x", "Value": "y"}]), "$.Tags[0].Key", "tag-reserved"),
    ("a tag twice", put("Tags", [{"Key": "x", "Value": "y"}] * 2), "$.Tags[1].Key", "tag-twice"),
    (
        "a key for local disks",
        put("ResourceConfig.VolumeKmsKeyId", "k"),
        "$.ResourceConfig.VolumeKmsKeyId",
        "volume-key-nvme",
    ),
    (
        "31 retries",
        put("RetryStrategy", {"MaximumRetryAttempts": 31}),
        "$.RetryStrategy.MaximumRetryAttempts",
        "model-range",
    ),
    (
        "MPI off",
        hyper("sagemaker_mpi_enabled", None),
        "$.HyperParameters.sagemaker_mpi_enabled",
        "world-size",
    ),
    (
        "MPI 'false'",
        hyper("sagemaker_mpi_enabled", '"false"'),
        "$.HyperParameters.sagemaker_mpi_enabled",
        "mpi-enabled",
    ),
    (
        "MPI True",
        hyper("sagemaker_mpi_enabled", "True"),
        "$.HyperParameters.sagemaker_mpi_enabled",
        "mpi-enabled",
    ),
    (
        "num_processes",
        hyper("sagemaker_mpi_num_processes", "1"),
        "$.HyperParameters.sagemaker_mpi_num_processes",
        "mpi-processes",
    ),
    (
        "too few ranks",
        hyper("sagemaker_mpi_num_of_processes_per_host", "1"),
        "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host",
        "world-size",
    ),
    (
        "too many ranks",
        hyper("sagemaker_mpi_num_of_processes_per_host", "8"),
        "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host",
        "ranks-above-gpus",
    ),
    (
        "ranks that are no number",
        hyper("sagemaker_mpi_num_of_processes_per_host", '"x"'),
        "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host",
        "mpi-processes",
    ),
    (
        "no rank at all",
        hyper("sagemaker_mpi_num_of_processes_per_host", "0"),
        "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host",
        "mpi-processes",
    ),
    (
        "another world size",
        put("Environment.LAUNCH_WORLD_SIZE", "4"),
        "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host",
        "world-size",
    ),
    ("-host", hyper(OPTIONS, '"-host a"'), f"$.HyperParameters.{OPTIONS}", "mpi-option"),
    (
        "a variable not carried",
        put("Environment.EXTRA", "1"),
        "$.Environment.EXTRA",
        "start-environment",
    ),
    (
        "another program",
        hyper("sagemaker_program", '"train.py"'),
        "$.HyperParameters.sagemaker_program",
        "start-guard",
    ),
    (
        "no script",
        hyper("sagemaker_launch_script", None),
        "$.HyperParameters.sagemaker_launch_script",
        "start-script",
    ),
    (
        "a script and a module",
        hyper("sagemaker_launch_module", '"pkg.train"'),
        "$.HyperParameters.sagemaker_launch_script",
        "start-script",
    ),
    (
        "arguments that are no list",
        hyper("sagemaker_launch_args", '"x"'),
        "$.HyperParameters.sagemaker_launch_args",
        "start-script",
    ),
    ("no code channel", put("InputDataConfig", []), "$.InputDataConfig", "start-guard"),
    (
        "model_dir",
        hyper("model_dir", '"/opt/ml/model"'),
        "$.HyperParameters.model_dir",
        "start-model-dir",
    ),
    (
        "a key in the environment",
        put("Environment.AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz"),
        "$.Environment.AWS_SECRET_ACCESS_KEY",
        "credential",
    ),
    (
        "an image without Horovod",
        put(
            "AlgorithmSpecification.TrainingImage",
            "763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.14.1-gpu-py310",
        ),
        "$.AlgorithmSpecification.TrainingImage",
        "image-horovod",
    ),
    (
        "an image for inference",
        put(
            "AlgorithmSpecification.TrainingImage",
            "763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-inference:2.12.0-gpu",
        ),
        "$.AlgorithmSpecification.TrainingImage",
        "image-unfit",
    ),
    (
        "machines said twice",
        put("ResourceConfig.InstanceGroups", GROUPS),
        "$.ResourceConfig.InstanceGroups",
        "instance-groups",
    ),
    (
        "secrets without a network",
        lambda d: d.update(
            EnableNetworkIsolation=True,
            Environment={**d["Environment"], "LAUNCH_SECRETS": '{"TOKEN": "arn:aws:x"}'},
        ),
        "$.EnableNetworkIsolation",
        "isolation-secret",
    ),
    (
        "code without a program",
        lambda d: d.update(HyperParameters={"sagemaker_submit_directory": '"s3://b/code.tar.gz"'}),
        "$.HyperParameters.sagemaker_program",
        "program-missing",
    ),
]


@pytest.mark.parametrize(
    ("change", "path", "rule"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_a_broken_rule_is_told_with_its_path(
    change: Callable[[Document], None], path: str, rule: str
):
    document = plain()
    change(document)
    before = copy.deepcopy(document)
    found = [(problem.path, problem.rule) for problem in errors(check(document))]
    assert any(
        found_path == path and found_rule.startswith(rule) for found_path, found_rule in found
    ), found
    assert document == before


def test_all_problems_are_told_at_once():
    document = plain()
    together = (
        "a misspelt key",
        "a misspelt inner key",
        "spot without a wait",
        "-host",
        "model_dir",
        "no such machine",
        "a variable not carried",
    )
    chosen = [case for case in BROKEN if case[0] in together]
    for _, change, _, _ in chosen:
        change(document)
    assert {path for _, _, path, _ in chosen} <= {problem.path for problem in check(document)}


def test_a_rule_about_our_own_way_is_none_in_a_document_that_is_not_ours():
    document = plain()
    document["Environment"] = {"PLAIN": "a b"}
    hyper(OPTIONS, '"-verbose"')(document)
    hyper("sagemaker_program", '"train.py"')(document)
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.5.1-gpu-py37"
    put("AlgorithmSpecification.TrainingImage", image)(document)  # no Python for our guard
    put("ResourceConfig.InstanceType", "ml.g4dn.12xlarge")(document)
    assert check(document) == []


def test_a_value_that_other_hosts_would_get_cut_is_told_in_any_document():
    document = captured(MINIMAL)
    document["Environment"] = {"PLAIN": "a b", "CUT": "http://x/y#frag"}
    told = [(one.path, one.rule, one.severity) for one in check(document)]
    assert told == [("$.Environment.CUT", "start-environment", "warning")]


@pytest.mark.parametrize(
    ("change", "world_size", "ok"),
    [
        (hyper("sagemaker_mpi_enabled", None), None, False),  # two jobs of world size 1
        (hyper("sagemaker_mpi_enabled", None), 8, False),
        (hyper("sagemaker_job_name", '"x"'), 8, True),
        (hyper("sagemaker_job_name", '"x"'), 4, False),
    ],
)
def test_the_world_size_that_is_meant_must_be_the_one_that_is_started(
    change: Callable[[Document], None], world_size: int | None, ok: bool
):
    document = captured(MINIMAL)
    change(document)
    assert (errors(check(document, world_size)) == []) == ok


def test_one_instance_without_mpi_starts_the_program_once_and_it_may_start_more():
    document = captured(MINIMAL)
    hyper("sagemaker_mpi_enabled", None)(document)
    document["ResourceConfig"]["InstanceCount"] = 1
    assert start_of(document).ranks is None
    assert "the toolkit runs train.py once" in start_of(document).because
    assert errors(check(document)) == errors(check(document, 1)) == []
    assert errors(check(document, 4)) != []


def test_the_callers_world_size_must_agree_with_the_documents_own():
    problems = errors(check(plain(), 4))
    assert [(problem.path, problem.rule) for problem in problems] == [
        ("--world-size", "world-size")
    ]


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [None], {"a": None}])
@pytest.mark.parametrize(
    "key",
    [
        "AlgorithmSpecification",
        "ResourceConfig",
        "StoppingCondition",
        "HyperParameters",
        "Environment",
        "InputDataConfig",
        "Tags",
        "VpcConfig",
        "CheckpointConfig",
    ],
)
def test_no_malformed_document_makes_a_rule_fail(key: str, value: Any):
    document = plain()
    document[key] = value
    check(document, 8)


@pytest.mark.parametrize("name", [[None], {"Ref": "Name"}, 3, None])
def test_a_name_that_is_no_text_makes_no_rule_fail(name: Any):
    document = plain()
    document["InputDataConfig"][0]["ChannelName"] = name
    document["Tags"] = [{"Key": name, "Value": "x"}, {"Key": name, "Value": "y"}]
    found = {problem.path: problem.rule for problem in errors(check(document))}
    assert found["$.InputDataConfig[0].ChannelName"] == "model-type"
    assert found["$.Tags[1].Key"] == "model-type"

from __future__ import annotations

import copy
import json
import unicodedata
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from launchers.core.rules.service_model import TYPES
from launchers.sagemaker.rules import service_model

Document = dict[str, Any]

# Every part of the request that a launch can set, within the limits of the service's model.
REQUEST: Document = {
    "TrainingJobName": "digits-0a1b2c3d-1",
    "AlgorithmSpecification": {
        "TrainingInputMode": "File",
        "TrainingImage": "763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.12.0",
        "MetricDefinitions": [{"Name": "loss", "Regex": "loss: ([0-9.]+)"}],
        "EnableSageMakerMetricsTimeSeries": True,
    },
    "RoleArn": "arn:aws:iam::000000000000:role/PLACEHOLDER",
    "HyperParameters": {"epochs": "3", "sagemaker_mpi_enabled": "true"},
    "Environment": {"LAUNCH_WORLD_SIZE": "8", "TEXT": "two\nlines # and 'quotes'"},
    "InputDataConfig": [
        {
            "ChannelName": "code",
            "DataSource": {
                "S3DataSource": {
                    "S3DataType": "S3Prefix",
                    "S3Uri": "s3://placeholder-bucket/code/sourcedir.tar.gz",
                    "S3DataDistributionType": "FullyReplicated",
                }
            },
        }
    ],
    "OutputDataConfig": {"S3OutputPath": "s3://placeholder-bucket/", "KmsKeyId": "alias/k"},
    "ResourceConfig": {
        "InstanceType": "ml.g5.12xlarge",
        "InstanceCount": 2,
        "VolumeSizeInGB": 100,
        "KeepAlivePeriodInSeconds": 1800,
    },
    "StoppingCondition": {
        "MaxRuntimeInSeconds": 3600,
        "MaxWaitTimeInSeconds": 7200,
        "MaxPendingTimeInSeconds": 7200,
    },
    "VpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]},
    "Tags": [{"Key": "équipe 2", "Value": "x=1"}],
    "EnableManagedSpotTraining": True,
    "CheckpointConfig": {"S3Uri": "s3://placeholder-bucket/c", "LocalPath": "/opt/ml/checkpoints"},
    "RetryStrategy": {"MaximumRetryAttempts": 3},
}


def test_a_request_within_the_model_has_no_problem() -> None:
    assert service_model.MODEL.check(REQUEST) == []


def test_check_leaves_the_document_as_it_was() -> None:
    document = copy.deepcopy(REQUEST)
    service_model.MODEL.check({**document, "Surplus": 1})
    assert document == REQUEST


def _put(*path: str | int, value: object) -> Callable[[Document], None]:
    def mutate(document: Document) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return mutate


def _rename(*path: str | int, to: str) -> Callable[[Document], None]:
    def mutate(document: Document) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        place[to] = place.pop(path[-1])

    return mutate


def _drop(*path: str | int) -> Callable[[Document], None]:
    def mutate(document: Document) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return mutate


# name, what is done to the request, path, rule, what its text must hold
MUTATIONS: list[tuple[str, Callable[[Document], None], str, str, str]] = [
    (
        "misspelt key",
        _put("EnableManagedSpotTrainin", value=True),
        "$.EnableManagedSpotTrainin",
        "model-key",
        "did you mean EnableManagedSpotTraining?",
    ),
    (
        "key in other case",
        _put("ResourceConfig", "volumeSizeInGb", value=3),
        "$.ResourceConfig.volumeSizeInGb",
        "model-key",
        "did you mean VolumeSizeInGB?",
    ),
    (
        "required key misspelt",
        _rename("ResourceConfig", to="ResourceConfigs"),
        "$.ResourceConfigs",
        "model-key",
        "did you mean ResourceConfig?",
    ),
    (
        "key one level too high",
        _put("InstanceType", value="ml.g5.12xlarge"),
        "$.InstanceType",
        "model-key",
        "belongs at $.ResourceConfig.InstanceType",
    ),
    (
        "key one level too low",
        _put("ResourceConfig", "RoleArn", value="arn:aws:iam::000000000000:role/X"),
        "$.ResourceConfig.RoleArn",
        "model-key",
        "belongs at $.RoleArn",
    ),
    (
        "unknown key in a list's entry",
        _put("InputDataConfig", 0, "Channelname", value="x"),
        "$.InputDataConfig[0].Channelname",
        "model-key",
        "did you mean ChannelName?",
    ),
    ("missing key", _drop("RoleArn"), "$.RoleArn", "model-missing", "expected text"),
    (
        "missing key in a list's entry",
        _drop("InputDataConfig", 0, "ChannelName"),
        "$.InputDataConfig[0].ChannelName",
        "model-missing",
        "missing",
    ),
    (
        "number as text",
        _put("ResourceConfig", "InstanceCount", value="2"),
        "$.ResourceConfig.InstanceCount",
        "model-type",
        "write it without quotes",
    ),
    (
        "truth as number",
        _put("ResourceConfig", "InstanceCount", value=True),
        "$.ResourceConfig.InstanceCount",
        "model-type",
        "a whole number",
    ),
    (
        "number as truth",
        _put("EnableManagedSpotTraining", value=1),
        "$.EnableManagedSpotTraining",
        "model-type",
        "true or false",
    ),
    (
        "number as a variable's value",
        _put("Environment", "N", value=3),
        "$.Environment.N",
        "model-type",
        "write it in quotes",
    ),
    ("null", _put("VpcConfig", value=None), "$.VpcConfig", "model-type", "null"),
    ("object for a list", _put("Tags", value={"a": "b"}), "$.Tags", "model-type", "a list"),
    (
        "name of 64 characters",
        _put("TrainingJobName", value="x" * 64),
        "$.TrainingJobName",
        "model-length",
        "64 characters; expected 1 to 63 characters",
    ),
    (
        "role to be filled in",
        _put("RoleArn", value="${ROLE_ARN}"),
        "$.RoleArn",
        "model-length",
        "it is a placeholder: fill it in",
    ),
    (
        "name to be filled in",
        _put("TrainingJobName", value="train-{{ ds }}"),
        "$.TrainingJobName",
        "model-pattern",
        "it is a placeholder: fill it in",
    ),
    (
        "number to be filled in",
        _put("ResourceConfig", "InstanceCount", value="<hosts>"),
        "$.ResourceConfig.InstanceCount",
        "model-type",
        "it is a placeholder: fill it in",
    ),
    (
        "name with an underscore",
        _put("TrainingJobName", value="a_b"),
        "$.TrainingJobName",
        "model-pattern",
        "'a_b'",
    ),
    (
        "name that ends in a line break",
        _put("TrainingJobName", value="a\n"),
        "$.TrainingJobName",
        "model-pattern",
        "a line break",
    ),
    (
        "digits of another script",
        _put("RoleArn", value="arn:aws:iam::" + "\u0660" * 12 + ":role/X"),
        "$.RoleArn",
        "model-pattern",
        "arn:aws",
    ),
    (
        "role as a placeholder in brackets",
        _put("RoleArn", value="<the role of the training job>"),
        "$.RoleArn",
        "model-pattern",
        "<the role",
    ),
    (
        "101 hyperparameters",
        _put("HyperParameters", value={f"h{n}": "1" for n in range(101)}),
        "$.HyperParameters",
        "model-length",
        "101 entries; expected 0 to 100",
    ),
    (
        "hyperparameter of 2,501 characters",
        _put("HyperParameters", "h", value="x" * 2501),
        "$.HyperParameters.h",
        "model-length",
        "2501 characters",
    ),
    (
        "hyperparameter with a line break",
        _put("HyperParameters", "h", value="a\nb"),
        "$.HyperParameters.h",
        "model-pattern",
        "text without line breaks",
    ),
    (
        "variable of 513 characters",
        _put("Environment", "V", value="x" * 513),
        "$.Environment.V",
        "model-length",
        "513 characters",
    ),
    (
        "101 variables",
        _put("Environment", value={f"V{n}": "1" for n in range(101)}),
        "$.Environment",
        "model-length",
        "101 entries",
    ),
    (
        "variable whose name begins with a digit",
        _put("Environment", "1a", value="x"),
        '$.Environment["1a"]',
        "model-pattern",
        "a key",
    ),
    (
        "21 channels",
        lambda document: document.update(InputDataConfig=document["InputDataConfig"] * 21),
        "$.InputDataConfig",
        "model-length",
        "21 entries",
    ),
    (
        "51 tags",
        lambda document: document.update(Tags=document["Tags"] * 51),
        "$.Tags",
        "model-length",
        "51 entries",
    ),
    (
        "17 subnets",
        _put("VpcConfig", "Subnets", value=["subnet-1"] * 17),
        "$.VpcConfig.Subnets",
        "model-length",
        "17 entries; expected 1 to 16",
    ),
    (
        "6 security groups",
        _put("VpcConfig", "SecurityGroupIds", value=["sg-1"] * 6),
        "$.VpcConfig.SecurityGroupIds",
        "model-length",
        "6 entries; expected 1 to 5",
    ),
    (
        "31 retries",
        _put("RetryStrategy", "MaximumRetryAttempts", value=31),
        "$.RetryStrategy.MaximumRetryAttempts",
        "model-range",
        "31; expected 1 to 30",
    ),
    (
        "keep alive above six hours",
        _put("ResourceConfig", "KeepAlivePeriodInSeconds", value=21601),
        "$.ResourceConfig.KeepAlivePeriodInSeconds",
        "model-range",
        "0 to 21600",
    ),
    (
        "pending below half an hour",
        _put("StoppingCondition", "MaxPendingTimeInSeconds", value=1799),
        "$.StoppingCondition.MaxPendingTimeInSeconds",
        "model-range",
        "1800 to 2419200",
    ),
    (
        "no time to run",
        _put("StoppingCondition", "MaxRuntimeInSeconds", value=0),
        "$.StoppingCondition.MaxRuntimeInSeconds",
        "model-range",
        "at least 1",
    ),
    (
        "more instances than 32 bits hold",
        _put("ResourceConfig", "InstanceCount", value=2**31),
        "$.ResourceConfig.InstanceCount",
        "model-range",
        "2147483648; expected a number of 32 bits",
    ),
    (
        "a run time of twenty nines",
        _put("StoppingCondition", "MaxRuntimeInSeconds", value=99999999999999999999),
        "$.StoppingCondition.MaxRuntimeInSeconds",
        "model-range",
        "a number of 32 bits",
    ),
    (
        "a seed of twenty nines",
        _put("InputDataConfig", 0, "ShuffleConfig", value={"Seed": 99999999999999999999}),
        "$.InputDataConfig[0].ShuffleConfig.Seed",
        "model-range",
        "a number of 64 bits",
    ),
    (
        "misspelt machine",
        _put("ResourceConfig", "InstanceType", value="ml.g5.12xlage"),
        "$.ResourceConfig.InstanceType",
        "model-enum",
        "did you mean ml.g5.12xlarge?",
    ),
    (
        "no machine at all",
        _put("ResourceConfig", "InstanceType", value="a big one"),
        "$.ResourceConfig.InstanceType",
        "model-enum",
        "launch machines",
    ),
    (
        "input mode in another case",
        _put("AlgorithmSpecification", "TrainingInputMode", value="file"),
        "$.AlgorithmSpecification.TrainingInputMode",
        "model-enum",
        "did you mean File?",
    ),
    (
        "tag's value with a hash sign",
        _put("Tags", 0, "Value", value="#1"),
        "$.Tags[0].Value",
        "model-pattern",
        "'#1'",
    ),
    (
        "address of no bucket",
        _put("OutputDataConfig", "S3OutputPath", value="/data"),
        "$.OutputDataConfig.S3OutputPath",
        "model-pattern",
        "'/data'",
    ),
]


@pytest.mark.parametrize(
    ("mutate", "path", "rule", "text"),
    [pytest.param(*case[1:], id=case[0]) for case in MUTATIONS],
)
def test_each_mistake_gives_precisely_its_own_problem(
    mutate: Callable[[Document], None], path: str, rule: str, text: str
) -> None:
    document = copy.deepcopy(REQUEST)
    mutate(document)
    (problem,) = service_model.MODEL.check(document)
    assert (problem.path, problem.rule, problem.severity) == (path, rule, "error")
    assert text in str(problem)


def test_all_mistakes_of_a_document_are_reported_at_once() -> None:
    document = copy.deepcopy(REQUEST)
    document["TrainingJobName"] = "a_b"
    document["Surplus"] = {}
    document["Tags"][0]["Key"] = ""
    del document["OutputDataConfig"]["S3OutputPath"]
    assert [(problem.path, problem.rule) for problem in service_model.MODEL.check(document)] == [
        ("$.TrainingJobName", "model-pattern"),
        ("$.OutputDataConfig.S3OutputPath", "model-missing"),
        ("$.Tags[0].Key", "model-length"),
        ("$.Surplus", "model-key"),
    ]


@pytest.mark.parametrize("document", [None, [], "text", 3, True])
def test_what_is_no_object_is_one_problem(document: object) -> None:
    (problem,) = service_model.MODEL.check(document)
    assert (problem.path, problem.rule, problem.expected) == ("$", "model-type", "an object")


SECRETS = [
    "AKIA" + "IOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
    "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345",
    "s3 https://user:" + "hunter2@host/",
    "-----BEGIN " + "RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_credential_is_never_shown(secret: str) -> None:
    document = copy.deepcopy(REQUEST)
    document["RoleArn"] = f" {secret} "
    document["Environment"] = {"A": secret * 20, "B": {"x": secret}, secret: "x"}
    document["HyperParameters"] = {"h": f"{secret}\n", "password": "\nhunter2"}
    document[secret] = secret
    problems = service_model.MODEL.check(document)
    assert len(problems) >= 5
    shown = json.dumps([asdict(problem) for problem in problems])
    assert secret[:12] not in shown
    assert "hunter2" not in shown


def test_long_values_are_shortened() -> None:
    (problem,) = service_model.MODEL.check({**REQUEST, "RoleArn": "no role " * 20})
    assert len(problem.found) <= 62


def test_every_kind_of_shape_in_the_model_is_checked() -> None:
    kinds = {shape["type"] for shape in service_model.MODEL.shapes.values()}
    assert kinds <= set(TYPES)


@pytest.mark.processes
def test_letters_numbers_and_separators_are_those_of_unicode() -> None:
    """The service's patterns name Unicode's categories; `re` has none of these names."""
    pattern = service_model.MODEL.shapes["TagKey"]["pattern"]
    for code in range(0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        allowed = category[0] in "LNZ" or character in "_.:/=+-@"
        assert service_model.MODEL.matches(pattern, character) == allowed, hex(code)


# What botocore itself enforces: unknown keys, missing keys, types and minimums.
_SHAPE = (
    botocore.session.get_session()
    .get_service_model("sagemaker")
    .operation_model("CreateTrainingJob")
    .input_shape
)
_OURS_ALONE = {"model-pattern", "model-enum"}


def _botocore_refuses(document: object) -> bool:
    return bool(ParamValidator().validate(document, _SHAPE).has_errors())


def _botocore_would_refuse(document: object) -> bool:
    """Ours, less what botocore lets through: maximums, patterns, enumerations, True as a number."""
    return any(
        problem.rule not in _OURS_ALONE and not _is_maximum(problem, document)
        for problem in service_model.MODEL.check(document)
    )


def _is_maximum(problem: Any, document: object) -> bool:
    if problem.rule == "model-type":
        return problem.found in ("true", "false") and problem.expected == "a whole number"
    if problem.rule not in ("model-length", "model-range"):
        return False
    number = int(problem.found.removeprefix("a key: ").split()[0])
    least = problem.expected.split()[0]
    # The keys of a map have no minimum for botocore but that of text.
    return not (least.lstrip("-").isdigit() and number < int(least)) and not (
        problem.expected.startswith("at least")
    )


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 3_000_000),
    st.text(max_size=4),
    st.just([]),
    st.just({}),
    st.just("x" * 3000),
)
_KEYS = sorted(
    {key for shape in service_model.MODEL.shapes.values() for key in shape.get("members", {})}
)


@st.composite
def _documents(draw: st.DrawFn) -> Document:
    """A good request in which up to two places were changed, emptied, dropped or added."""
    document = copy.deepcopy(REQUEST)
    for _ in range(draw(st.integers(0, 2))):
        place: Any = document
        while True:
            steps: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not steps:
                break
            step = draw(st.sampled_from(steps))
            if isinstance(place[step], (dict, list)) and draw(st.booleans()):
                place = place[step]
                continue
            change = draw(st.sampled_from(["set", "drop", "add"]))
            if change == "set":
                place[step] = draw(_LEAVES)
            elif change == "drop":
                del place[step]
            elif isinstance(place, dict):
                place[draw(st.sampled_from(_KEYS))] = draw(_LEAVES)
            else:
                place.append(draw(_LEAVES))
            break
    return document


@settings(max_examples=400, deadline=None, database=None)
@given(document=_documents())
def test_botocores_own_validator_agrees_on_what_it_enforces(document: Document) -> None:
    # False below a minimum of 1 is a number for botocore.
    assume(not any(problem.found == "false" for problem in service_model.MODEL.check(document)))
    assert _botocore_would_refuse(document) == _botocore_refuses(document)


CAPTURED = Path(__file__).parents[1] / "captured" / "sagemaker-2.257.7"


@pytest.mark.parametrize("name", ["v2_tf_mpi_minimal", "v2_tf_mpi_full"])
def test_what_the_sagemaker_sdk_sends_has_no_problem(name: str) -> None:
    assert service_model.MODEL.check(json.loads((CAPTURED / f"{name}.json").read_text())) == []

"""``request:`` under ``sagemaker:``: what no flag says, laid over the request that flags make."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError, Problem, errors
from launchers.core.reading.job_file import schema
from launchers.core.rules.request import laid_over
from launchers.sagemaker.planning.request import request_of
from tests.cli.command import Launch
from tests.sagemaker.documents import job, plain, prepared, rendered

Document = dict[str, Any]
S3 = "s3://bucket/data"


def channel(**fields: Any) -> Document:
    """A channel `train`; what is said of the S3 data source stands under ``source``."""
    source = {"S3DataType": "S3Prefix", "S3Uri": S3, **fields.pop("source", {})}
    return {"ChannelName": "train", "DataSource": {"S3DataSource": source}, **fields}


LUSTRE = {
    "ChannelName": "train",
    "DataSource": {
        "FileSystemDataSource": {
            "FileSystemId": "fs-0123456789abcdef0",
            "FileSystemAccessMode": "ro",
            "FileSystemType": "FSxLustre",
            "DirectoryPath": "/abc/train",
        }
    },
}
VPC = {"subnets": ("subnet-0123456789abcdef0",), "security_groups": ("sg-0123456789abcdef0",)}
RULE = {"RuleConfigurationName": "r", "RuleEvaluatorImage": "503895931360.dkr.ecr.x/y:1"}
# What may be said: its name, and what else the job has.
GOOD: list[tuple[str, Document, Document]] = [
    ("a manifest", {"InputDataConfig": [channel(source={"S3DataType": "ManifestFile"})]}, {}),
    (
        "an augmented manifest",
        {
            "InputDataConfig": [
                channel(
                    source={"S3DataType": "AugmentedManifestFile", "AttributeNames": ["a", "b"]},
                    InputMode="Pipe",
                    RecordWrapperType="RecordIO",
                )
            ]
        },
        {},
    ),
    ("a compression", {"InputDataConfig": [channel(CompressionType="Gzip")]}, {}),
    ("a content type", {"InputDataConfig": [channel(ContentType="text/csv")]}, {}),
    ("a shuffle", {"InputDataConfig": [channel(ShuffleConfig={"Seed": 2**63 - 1})]}, {}),
    ("a record wrapper", {"InputDataConfig": [channel(RecordWrapperType="None")]}, {}),
    ("a file system", {"InputDataConfig": [LUSTRE]}, VPC),
    (
        "the profiler",
        {"ProfilerConfig": {"S3OutputPath": S3, "ProfilingIntervalInMilliseconds": 500}},
        {},
    ),
    ("a profiler's rule", {"ProfilerRuleConfigurations": [RULE]}, {}),
    ("a debugger's rule", {"DebugRuleConfigurations": [RULE]}, {}),
    ("a debugger's hook", {"DebugHookConfig": {"S3OutputPath": S3}}, {}),
    (
        "an experiment",
        {"ExperimentConfig": {"ExperimentName": "e", "TrialName": "t", "RunName": "r"}},
        {},
    ),
    ("infra check", {"InfraCheckConfig": {"EnableInfraCheck": True}}, {}),
    ("uncompressed output", {"OutputDataConfig": {"CompressionType": "NONE"}}, {}),
    ("session chaining", {"SessionChainingConfig": {"EnableSessionTagChaining": True}}, {}),
    (
        "placement",
        {
            "ResourceConfig": {
                "InstancePlacementConfig": {
                    "EnableMultipleJobs": False,
                    "PlacementSpecifications": [{"UltraServerId": "us-1", "InstanceCount": 2}],
                }
            }
        },
        {},
    ),
    (
        "MLflow",
        {
            "MlflowConfig": {
                "MlflowResourceArn": "arn:aws:sagemaker:us-east-1:111122223333:mlflow-app/a"
            }
        },
        {},
    ),
    (
        "no time series of metrics",
        {"AlgorithmSpecification": {"EnableSageMakerMetricsTimeSeries": False}},
        {},
    ),
]


@pytest.mark.parametrize(("block", "asked"), [r[1:] for r in GOOD], ids=[r[0] for r in GOOD])
def test_the_request_is_that_of_the_flags_with_the_block_on_top(block: Document, asked: Document):
    before = copy.deepcopy(block)
    made = prepared(request=block, **asked)
    assert errors(made.problems) == []
    expected = copy.deepcopy(block)
    flags = rendered(**asked)
    if "InputDataConfig" in block:
        # A list replaces, and the code's channel is always there.
        expected["InputDataConfig"].append(flags["InputDataConfig"][-1])
    found = json.loads(made.definition.text)
    assert unnamed(found) == unnamed(laid_over(flags, expected))
    assert made.definition.document == found
    assert block == before
    shown = [row.text.partition(" = ")[0] for row in made.plan.rows if row.label == "request"]
    assert shown
    assert all(path.split(".")[0] in block for path in shown)


def unnamed(document: Document) -> Document:
    """Without what follows from the digest: it differs, as it should."""
    text = json.dumps(document).replace(document["TrainingJobName"], "NAME")
    return json.loads(text)


PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p"
# What may not be said: where, by which rule, and a part of the message.
BAD: list[tuple[str, Document, str, str, str]] = [
    ("a name", {"TrainingJobName": "x"}, "TrainingJobName", "request-field", "use --name"),
    ("an image", {"AlgorithmSpecification": {"TrainingImage": "x"}},
     "AlgorithmSpecification.TrainingImage", "request-field", "--image"),
    ("a start of its own", {"AlgorithmSpecification": {"ContainerEntrypoint": ["x"]}},
     "AlgorithmSpecification.ContainerEntrypoint", "request-field", "starts the ranks"),
    ("a registry", {"AlgorithmSpecification": {"TrainingImageConfig": {}}},
     "AlgorithmSpecification.TrainingImageConfig", "request-field", "use --private-registry"),
    ("a role", {"RoleArn": "arn:aws:iam::111122223333:role/x"}, "RoleArn", "request-field",
     "use --role"),
    ("spot", {"EnableManagedSpotTraining": True}, "EnableManagedSpotTraining", "request-field",
     "use --spot"),
    ("tags", {"Tags": []}, "Tags", "request-field", "use --tag"),
    ("variables", {"Environment": {"A": "b"}}, "Environment", "request-field", "use --env"),
    ("hyperparameters", {"HyperParameters": {"a": "1"}}, "HyperParameters", "request-field",
     "follow `--`"),
    ("a plan", {"ResourceConfig": {"TrainingPlanArn": PLAN}}, "ResourceConfig.TrainingPlanArn",
     "request-field", "use --training-plan"),
    ("remote debug", {"RemoteDebugConfig": {"EnableRemoteDebug": True}}, "RemoteDebugConfig",
     "request-field", "use --remote-debug"),
    ("TensorBoard", {"TensorBoardOutputConfig": {"S3OutputPath": S3}},
     "TensorBoardOutputConfig.S3OutputPath", "request-field", "use --tensorboard"),
    ("instance groups", {"ResourceConfig": {"InstanceGroups": []}},
     "ResourceConfig.InstanceGroups", "request-hosts", "the world size counts"),
    ("preferences", {"ResourceConfig": {"InstancePreferences": []}},
     "ResourceConfig.InstancePreferences", "request-hosts", "--machine and --instances"),
    ("serverless", {"ServerlessJobConfig": {}}, "ServerlessJobConfig", "request-hosts", "no ranks"),
    ("a channel of a group",
     {"InputDataConfig": [channel(source={"InstanceGroupNames": ["g"]})]},
     "InputDataConfig[0].DataSource.S3DataSource.InstanceGroupNames", "request-hosts", "groups"),
    ("a misspelt field", {"ExperimentConfg": {}}, "ExperimentConfg", "model-key",
     "did you mean ExperimentConfig?"),
    ("a misspelt inner field", {"ExperimentConfig": {"ExperimentNam": "e"}},
     "ExperimentConfig.ExperimentNam", "model-key", "did you mean ExperimentName?"),
    ("a field one level too high", {"ProfilingIntervalInMilliseconds": 500},
     "ProfilingIntervalInMilliseconds", "model-key",
     "it belongs at sagemaker.request.ProfilerConfig"),
    ("a flag's field one level too high", {"InstanceCount": 4}, "InstanceCount", "model-key",
     "use --instances"),
    ("a key of launch.yaml", {"max_runtime": "2h"}, "max_runtime", "model-key",
     "belongs at the top"),
    ("a text for a truth", {"InfraCheckConfig": {"EnableInfraCheck": "yes"}},
     "InfraCheckConfig.EnableInfraCheck", "model-type", "true or false"),
    ("nothing for an object", {"ResourceConfig": None}, "ResourceConfig", "model-type",
     "an object"),
    ("a list for an object", {"OutputDataConfig": []}, "OutputDataConfig", "model-type",
     "an object"),
    ("no such compression", {"OutputDataConfig": {"CompressionType": "None"}},
     "OutputDataConfig.CompressionType", "model-enum", "did you mean NONE?"),
    ("no such data type", {"InputDataConfig": [channel(source={"S3DataType": "Manifest"})]},
     "InputDataConfig[0].DataSource.S3DataSource.S3DataType", "model-enum", "ManifestFile"),
    ("no such wrapper", {"InputDataConfig": [channel(RecordWrapperType="RecordIo")]},
     "InputDataConfig[0].RecordWrapperType", "model-enum", "did you mean RecordIO?"),
    ("a compression in capitals", {"InputDataConfig": [channel(CompressionType="GZIP")]},
     "InputDataConfig[0].CompressionType", "model-enum", "did you mean Gzip?"),
    ("a long content type", {"InputDataConfig": [channel(ContentType="x" * 257)]},
     "InputDataConfig[0].ContentType", "model-length", "257 characters"),
    ("a seed of twenty nines",
     {"InputDataConfig": [channel(ShuffleConfig={"Seed": 99999999999999999999})]},
     "InputDataConfig[0].ShuffleConfig.Seed", "model-range", "64 bits"),
    ("a shuffle without a seed", {"InputDataConfig": [channel(ShuffleConfig={})]},
     "InputDataConfig[0].ShuffleConfig.Seed", "model-missing", "missing"),
    ("17 attributes", {"InputDataConfig": [channel(source={"AttributeNames": ["a"] * 17})]},
     "InputDataConfig[0].DataSource.S3DataSource.AttributeNames", "model-length", "17 entries"),
    ("an experiment with a blank", {"ExperimentConfig": {"ExperimentName": "a b"}},
     "ExperimentConfig.ExperimentName", "model-pattern", "text that matches"),
    ("a chain as text", {"SessionChainingConfig": {"EnableSessionTagChaining": "true"}},
     "SessionChainingConfig.EnableSessionTagChaining", "model-type", "without quotes"),
    ("a placement without a count",
     {"ResourceConfig": {"InstancePlacementConfig": {"PlacementSpecifications": [{}]}}},
     "ResourceConfig.InstancePlacementConfig.PlacementSpecifications[0].InstanceCount",
     "model-missing", "missing"),
    ("a credential",
     {"ProfilerConfig": {"ProfilingParameters": {"api_key": "kX92jfA0slqP41mZw8Rt"}}},
     "ProfilerConfig.ProfilingParameters.api_key", "credential", "--allow-value 'api_key'"),
]  # fmt: skip


def errors_of(**asked: Any) -> list[Problem]:
    try:
        return errors(prepared(**asked).problems)
    except LaunchError as error:
        return errors(error.problems)


@pytest.mark.parametrize(
    ("block", "path", "rule", "part"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_what_may_not_be_said_is_refused_once_with_its_place(
    block: Document, path: str, rule: str, part: str
):
    found = request_of(job(request=block)).problems
    assert [(one.path, one.rule) for one in found] == [(f"sagemaker.request.{path}", rule)]
    assert part in str(found[0])
    assert "kX92" not in str(found[0])


def test_a_refused_field_is_told_once_and_with_the_other_mistakes():
    block = {"TensorBoardOutputConfig": {"S3OutputPath": S3}, "ExperimentConfg": {}}
    found = errors_of(request=block, max_runtime=29 * 86400)
    assert [one.rule for one in found] == ["request-field", "model-key", "runtime-limit"]


def test_a_value_that_is_allowed_by_name_passes():
    block = {"ProfilerConfig": {"ProfilingParameters": {"api_key": "kX92jfA0slqP41mZw8Rt"}}}
    assert errors_of(request=block, allow_values=("api_key",)) == []


def test_what_the_document_as_a_whole_lacks_is_told_too():
    found = errors_of(request={"TensorBoardOutputConfig": {"LocalPath": "/opt/ml/output/tb"}})
    assert [one.path for one in found] == ["$.TensorBoardOutputConfig.S3OutputPath"]


def test_channels_stand_in_one_place():
    found = errors_of(request={"InputDataConfig": [channel()]}, channels={"valid": S3})
    assert [one.rule for one in found] == ["request-field"]
    assert "together with --channel" in str(found[0])


def test_the_rules_run_over_the_merged_request():
    twice = {"InputDataConfig": [channel(), channel()]}
    assert [one.rule for one in errors_of(request=twice)] == ["channel-twice"]


def test_a_changed_block_is_another_job_and_the_same_block_the_same():
    names = [
        prepared(request={"ExperimentConfig": {"ExperimentName": name}}).definition.name
        for name in ("a", "b", "a")
    ]
    assert names[0] == names[2] != names[1]
    assert names[0] != plain()["TrainingJobName"]


FILE = """
instances: 2
gpus: 4
sagemaker:
  request:
    OutputDataConfig: {CompressionType: NONE}
"""


def test_a_dry_run_shows_the_merged_document_and_a_mistake_its_file(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    launch.write("launch.yaml", FILE)
    answer = launch("sagemaker", "train.py", "--dry-run")
    assert answer.code == 0, answer.err
    assert answer.json["OutputDataConfig"]["CompressionType"] == "NONE"
    assert 'request      OutputDataConfig.CompressionType = "NONE"' in answer.err
    launch.write("launch.yaml", FILE.replace("NONE", "ZIP"))
    answer = launch("sagemaker", "train.py", "--dry-run")
    assert answer.code == 2
    assert "launch.yaml: sagemaker.request.OutputDataConfig.CompressionType" in answer.err


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("NONE", "2026-01-31", "'2026-01-31'; expected one of GZIP, NONE"),
        ("NONE", ".nan", "expected a finite number"),
        ("  request:\n    Output", "  Output", "`OutputDataConfig:` belongs under `request:`"),
    ],
    ids=["a date", "no number", "beside the block"],
)
def test_a_value_that_no_request_can_hold_is_refused(launch: Launch, old: str, new: str, part: str):
    launch.write("launch.yaml", FILE.replace(old, new))
    answer = launch("sagemaker", "--dry-run")
    assert answer.code == 2
    assert part in answer.err


def test_the_schema_of_launch_yaml_covers_what_may_be_said():
    block = schema()["properties"]["sagemaker"]["properties"]["request"]
    assert block["additionalProperties"] is False
    assert "Tags" not in block["properties"]
    assert "InstanceGroups" not in block["properties"]["ResourceConfig"]["properties"]
    config = block["properties"]["OutputDataConfig"]["properties"]
    assert config == {"CompressionType": {"enum": ["GZIP", "NONE"]}}
    channels = block["properties"]["InputDataConfig"]["items"]
    assert channels["required"] == ["ChannelName", "DataSource"]

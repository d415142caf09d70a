"""`launchers.sagemaker.estimator`: what the real SDK sends for a job is what we would send."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import launchers.sagemaker
from launchers.core.model.problems import EXIT_SDK, LaunchError, errors
from launchers.core.records import nonce
from launchers.sagemaker.rules.document import check
from tests.cli.command import Launch
from tests.fakes.recorder import Recorder
from tests.places import ROOT
from tests.refusals import refused
from tests.sagemaker import released
from tests.sagemaker.documents import rendered

pytestmark = pytest.mark.processes

ROLE = "arn:aws:iam::111122223333:role/SM"
ACCOUNT = {"role": ROLE, "bucket": "my-bucket", "region": "us-east-1"}

# What the SDK's request has otherwise than ours, each with its reason.
EXPLAINED = {
    "ProfilerConfig": "the SDK always sends one; it says that the profiler is off",
}

JOBS: dict[str, dict[str, Any]] = {
    "two hosts of four GPUs": {"instances": 2, "gpus": 4},
    "arguments": {
        "gpus": 4,
        "args": ["--lr", "1.10", "--flag", "--name", "a b", "-v", "-v", "file#1", ""],
    },
    "everything": {
        "instances": 2, "machine": "ml.p3.8xlarge", "env": {"A": "x#y", "B": 'q"\n'},
        "tags": {"team": "x"}, "output_path": "s3://my-bucket/out", "output_key": "alias/k2",
        "volume_key": "alias/k1", "volume_size": "200GB", "subnets": ["subnet-0123abcd"],
        "security_groups": ["sg-0123abcd"], "encrypt_traffic": True, "spot": True,
        "max_runtime": "1h", "max_wait": "2h", "retries": 3, "metrics": {"loss": "loss: ([0-9.]+)"},
        "checkpoint": "s3://my-bucket/ckpt", "mpi_options": ["-x NCCL_DEBUG=INFO"],
        "channels": {"training": "s3://my-bucket/data"},
    },
    "isolation": {
        "instances": 2, "gpus": 4, "isolate": True, "channels": {"training": "s3://my-bucket/data"},
    },
    "channels": {
        "gpus": 4,
        "channels": {"train": "s3://b/train,sharded", "test": "s3://b/test,sharded,fastfile"},
    },
    "file systems and fields of channels": {
        "gpus": 4, "subnets": ["subnet-0123abcd"], "security_groups": ["sg-0123abcd"],
        "request": {"InputDataConfig": [
            {"ChannelName": "train", "ContentType": "text/csv", "ShuffleConfig": {"Seed": 3},
             "DataSource": {"S3DataSource": {"S3DataType": "ManifestFile", "S3Uri": "s3://b/m"}}},
            {"ChannelName": "fast", "DataSource": {"FileSystemDataSource": {
                "FileSystemId": "fs-01234567", "FileSystemAccessMode": "rw",
                "FileSystemType": "FSxLustre", "DirectoryPath": "/abc/x"}}},
        ]},
    },
    "a training plan and remote debug": {
        "gpus": 4, "remote_debug": True,
        "training_plan": "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p",
    },
    "a warm pool": {"gpus": 8, "keep_alive": "30m"},
    "machines without GPUs": {"instances": 3, "gpus": 0, "processes": 2},
    "PyTorch": {"gpus": 4, "framework": "pytorch-1.13"},
    "ranks of PyTorch": {
        "instances": 2, "gpus": 4, "strategy": "torch", "args": ["--lr", "1.10", "--flag", ""],
    },
    "ranks of PyTorch without a network": {
        "instances": 2, "gpus": 4, "strategy": "torch", "isolate": True, "framework": "pytorch-2.6",
        "channels": {"train": "s3://b/train"},
    },
    "ranks of PyTorch in an image of one's own": {
        "gpus": 4, "strategy": "torch", "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/m:1",
    },
    "an image of one's own": {
        "gpus": 4, "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/mine:1",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def service() -> Iterator[Recorder]:
    with Recorder() as recorder:
        yield recorder


@pytest.fixture
def aws(service: Recorder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorder:
    """Every client of this process sends to a service of this machine, the SDK's telemetry none."""
    config = tmp_path / "sagemaker.yaml"
    config.write_text("SchemaVersion: '1.0'\nSageMaker:\n  PythonSDK:\n    Modules:\n"
                      "      TelemetryOptOut: true\n")  # fmt: skip
    monkeypatch.setenv("AWS_ENDPOINT_URL", service.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("SAGEMAKER_USER_CONFIG_OVERRIDE", str(config))
    service.clear()
    return service


@cache
def session(region: str) -> Any:
    """One of the SDK's sessions a region, since it takes a second to make one."""
    import boto3
    from sagemaker.session import Session

    return Session(boto3.Session(region_name=region))


def estimator(**fields: Any) -> Any:
    job = launchers.sagemaker.job(**{**ACCOUNT, **fields})
    return launchers.sagemaker.estimator(job, sagemaker_session=session("us-east-1"))


@pytest.mark.parametrize("fields", JOBS.values(), ids=JOBS)
def test_the_sdk_sends_the_request_that_we_would_send(aws: Recorder, fields: dict[str, Any]):
    made = estimator(**fields)
    made.fit(wait=False)
    (theirs,) = aws.sent("CreateTrainingJob")
    ours = json.loads(made.prepared.definition.text)
    for key in EXPLAINED:
        theirs.pop(key)
        assert key not in ours
    assert theirs == ours


def test_the_sdks_own_request_breaks_no_rule(aws: Recorder):
    estimator(instances=2, gpus=4).fit(wait=False)
    assert check(aws.sent("CreateTrainingJob")[0], world_size=8) == []


def test_the_job_is_the_one_that_the_command_prints(aws: Recorder, launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\n")
    flags = ["--instances", "2", "--gpus", "4", "--role", ROLE, "--bucket", "my-bucket",
             "--region", "us-east-1", "--env", "A=b", "--max-runtime", "2h"]  # fmt: skip
    printed = launch("sagemaker", "train.py", *flags, "--dry-run", "--", "--epochs", "3")
    made = estimator(
        script=launch.folder / "train.py", instances=2, gpus=4, env={"A": "b"}, max_runtime="2h",
        args=["--epochs", 3],
    )  # fmt: skip
    drawn = made.environment["LAUNCH_NONCE"]
    assert re.fullmatch(nonce.FORM, drawn)
    assert made.prepared.definition.text == nonce.filled_text(printed.out, drawn)


def test_the_bundle_is_uploaded_to_the_place_that_the_request_names(aws: Recorder):
    made = estimator(gpus=4)
    made.fit(wait=False)
    (put,) = [one for one in aws.requests if one.operation == "PUT"]
    digest = hashlib.sha256(gzip.decompress(put.body)).hexdigest()
    assert put.path == f"/my-bucket/launch/code/{digest}/sourcedir.tar.gz"
    assert f"s3:/{put.path}" in made.prepared.definition.text
    assert [one.operation for one in aws.requests] == ["PUT", "CreateTrainingJob"]


def test_a_script_that_is_edited_in_a_live_notebook_is_launched_as_it_is_now(
    aws: Recorder, tmp_path: Path
):
    script, sent = tmp_path / "train.py", []
    for text in ("import horovod.torch as hvd\n", "import horovod.torch as hvd  # edited\n"):
        script.write_text(text)
        made = estimator(script=script, gpus=4)
        made.fit(wait=False)
        put = aws.requests[-2]
        assert text.encode() in gzip.decompress(put.body)
        sent.append((made.prepared.definition.name, put.path))
    (first, place), (second, other) = sent
    assert first != second
    assert place != other
    script.write_text("print()\n")
    with refused("source-changed", r"since .* made; .* launchers\.sagemaker\.estimator\(job"):
        made.fit(wait=False)


def test_a_session_is_made_in_the_jobs_region_where_none_is_given(aws: Recorder):
    job = launchers.sagemaker.job(role=ROLE, bucket="my-bucket", gpus=4, region="eu-west-1")
    made = launchers.sagemaker.estimator(job)
    made.fit(wait=False)
    assert made.sagemaker_session.boto_region_name == "eu-west-1"
    assert len(aws.sent("CreateTrainingJob")) == 1


def test_nothing_is_sent_before_fit_and_the_world_size_is_printed_first(
    aws: Recorder, capsys: pytest.CaptureFixture[str]
):
    made = estimator(instances=2, gpus=4)
    assert aws.requests == []
    made.fit(wait=False)
    assert "2 hosts x 4 ranks = world size 8" in capsys.readouterr().out


def test_it_is_the_sdks_own_estimator_for_the_framework_of_the_image(aws: Recorder):
    from sagemaker.pytorch import PyTorch
    from sagemaker.tensorflow import TensorFlow

    assert isinstance(estimator(gpus=4), TensorFlow)
    assert isinstance(estimator(gpus=4, framework="pytorch-1.13"), PyTorch)
    assert isinstance(estimator(gpus=4, strategy="torch"), PyTorch)
    own = "111122223333.dkr.ecr.us-east-1.amazonaws.com/mine:1"
    assert isinstance(estimator(gpus=4, strategy="torch", image=own), PyTorch)


def test_fit_waits_for_the_job_as_the_sdk_does(aws: Recorder, monkeypatch: pytest.MonkeyPatch):
    made = estimator(gpus=4)
    monkeypatch.setattr("sagemaker.session.time.sleep", lambda seconds: None)
    made.fit(logs="None")
    assert aws.described >= 2


def test_inputs_of_fit_stand_for_the_jobs_channels_and_the_code_stays(aws: Recorder):
    made = estimator(gpus=4, channels={"train": "s3://b/train"})
    made.fit("s3://b/other", wait=False)
    (sent,) = aws.sent("CreateTrainingJob")
    assert [channel["ChannelName"] for channel in sent["InputDataConfig"]] == ["training", "code"]


def test_a_session_of_the_users_gives_the_region(aws: Recorder):
    made = launchers.sagemaker.estimator(
        launchers.sagemaker.job(role=ROLE, bucket="my-bucket", gpus=4),
        sagemaker_session=session("eu-west-1"),
    )
    assert ".eu-west-1." in made.image_uri
    assert made.prepared.definition.placeholders == ()


def test_what_the_job_does_not_decide_can_be_overridden(aws: Recorder):
    from sagemaker.debugger import ProfilerConfig

    made = launchers.sagemaker.estimator(
        launchers.sagemaker.job(**ACCOUNT, gpus=4),
        sagemaker_session=session("us-east-1"),
        disable_profiler=False,
        profiler_config=ProfilerConfig(system_monitor_interval_millis=500),
    )
    made.fit(wait=False)
    sent = aws.sent("CreateTrainingJob")[0]["ProfilerConfig"]
    assert sent["ProfilingIntervalInMilliseconds"] == 500


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    ("a misspelt override", {}, {"max_runs": 1}, "max_runs", "override-unknown"),
    ("an argument of SDK 1", {}, {"distributions": {}}, "distributions", "override-unknown"),
    ("what the job decides", {}, {"instance_count": 4}, "instance_count", "override-decided"),
    ("MPI switched off", {}, {"distribution": {}}, "distribution", "override-decided"),
    ("no role", {"role": None}, {}, "$.RoleArn", "placeholder"),
    ("no bucket", {"bucket": None}, {}, "every s3:// place", "placeholder"),
    ("no region", {"region": None}, {}, "the region", "placeholder"),
    ("a field that the SDK lacks", {"max_pending": "2h"}, {},
     "$.StoppingCondition.MaxPendingTimeInSeconds", "estimator-field"),
    ("a private registry", {"private_registry": "vpc", "image": "r.local/h:1",
                            "subnets": ["subnet-0123abcd"], "security_groups": ["sg-0123abcd"]},
     {}, "$.AlgorithmSpecification.TrainingImageConfig", "estimator-field"),
    ("a field of the block that the SDK lacks",
     {"request": {"OutputDataConfig": {"CompressionType": "NONE"}}}, {},
     "$.OutputDataConfig.CompressionType", "estimator-field"),
    ("a broken rule", {"spot": True}, {}, "$.StoppingCondition.MaxWaitTimeInSeconds", "spot-wait"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "overrides", "path", "rule"), [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)  # fmt: skip
def test_what_the_sdk_would_drop_or_the_job_forbids_is_refused(
    aws: Recorder, fields: dict[str, Any], overrides: dict[str, Any], path: str, rule: str
):
    job = launchers.sagemaker.job(**{**ACCOUNT, "gpus": 4, **fields})
    with pytest.raises(LaunchError) as raised:
        launchers.sagemaker.estimator(job, **overrides)
    assert (path, rule) in [
        (problem.path, problem.rule) for problem in errors(raised.value.problems)
    ]
    assert aws.requests == []


def test_a_session_in_another_region_is_refused(aws: Recorder):
    with refused("estimator-region", "us-east-1, and a sagemaker_session in eu-west-1"):
        launchers.sagemaker.estimator(
            launchers.sagemaker.job(**ACCOUNT, gpus=4), sagemaker_session=session("eu-west-1")
        )


def test_another_name_and_later_hyperparameters_are_refused(aws: Recorder):
    made = estimator(gpus=4)
    with refused("estimator-name", "name="):
        made.fit(wait=False, job_name="mine")
    with refused("estimator-hyperparameters", "args="):
        made.set_hyperparameters(lr=0.1)
    assert aws.requests == []


def test_every_field_of_a_request_is_an_argument_or_is_known_to_be_none(aws: Recorder):
    """A field that the template gains later must not be dropped without a word."""
    import inspect

    from sagemaker.estimator import EstimatorBase, Framework

    from launchers.sagemaker.sdk.notebook import ARGUMENTS, _fields_without_argument

    known = {*inspect.signature(EstimatorBase).parameters, *inspect.signature(Framework).parameters}
    assert set(ARGUMENTS.values()) <= known
    document = rendered(max_pending=7200)
    document["InfraCheckConfig"] = {"EnableInfraCheck": True}
    assert [problem.path for problem in _fields_without_argument(document)] == [
        "$.StoppingCondition.MaxPendingTimeInSeconds",
        "$.InfraCheckConfig.EnableInfraCheck",
    ]


def test_importing_the_package_imports_no_sdk():
    code = (
        "import sys, launchers.sagemaker as s; s.job(gpus=4); "
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'sagemaker', 'boto3', 'botocore', 'pydantic', 'jinja2', 'numpy'}))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


# In a Python of its own, where the released package under test comes first on the path.
_PROGRAM = """
import json, os, sys
import launchers.sagemaker
from launchers.core.model.problems import LaunchError
from tests.fakes.recorder import Recorder
with Recorder() as recorder:
    os.environ["AWS_ENDPOINT_URL"] = recorder.url
    try:
        job = launchers.sagemaker.job(**json.loads(sys.argv[1]))
        made = launchers.sagemaker.estimator(job)
        made.fit(wait=False)
        answer = {"sent": recorder.sent("CreateTrainingJob")[0],
                  "ours": json.loads(made.prepared.definition.text)}
    except LaunchError as error:
        answer = {"code": error.exit_code, "text": str(error), "sdk": "sagemaker" in sys.modules,
                  "requests": len(recorder.requests)}
print(json.dumps(answer))
"""


def with_released(sdk: Path, **fields: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps({**ACCOUNT, **fields})],
        env={
            **os.environ, "PYTHONPATH": os.pathsep.join([str(sdk), str(ROOT)]),
            "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
            # An old SDK's generated code and a newer protobuf.
            "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python",
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.pip_network
def test_an_sdk_that_drops_the_mpi_arguments_is_refused_before_it_is_imported():
    answer = with_released(released.installed("sagemaker==2.17.0", dependencies=False), gpus=4)
    assert (answer["code"], answer["sdk"], answer["requests"]) == (EXIT_SDK, False, 0)
    assert "sagemaker: 2.17.0; expected >=2.33.0,<3" in answer["text"]


@pytest.mark.pip_network
def test_the_oldest_sdk_that_the_gate_lets_pass_sends_the_request():
    sdk = released.installed(
        "sagemaker==2.33.0", "smdebug_rulesconfig==1.0.1", "protobuf3-to-dict==0.1.5",
        "google-pasta==0.2.0", dependencies=False,
    )  # fmt: skip
    answer = with_released(sdk, instances=2, gpus=4, isolate=True, channels={"a": "s3://b/a"})
    assert answer["sent"] == answer["ours"]
    refused = with_released(sdk, gpus=4, retries=3)
    assert refused["code"] == EXIT_SDK
    assert ">=2.41.0" in refused["text"]
    refused = with_released(sdk, gpus=4, strategy="torch")
    assert refused["code"] == EXIT_SDK
    assert ">=2.167.0" in refused["text"]


@pytest.mark.pip_network
def test_the_oldest_sdk_that_takes_an_entry_point_sends_the_start_of_our_agent():
    sdk = released.installed(
        "sagemaker==2.167.0", "smdebug_rulesconfig==1.0.1", "protobuf3-to-dict==0.1.5",
        "google-pasta==0.2.0", "schema==0.7.5", "tblib==1.7.0", dependencies=False,
    )  # fmt: skip
    answer = with_released(sdk, instances=2, gpus=4, strategy="torch")
    assert {key: answer["sent"][key] for key in answer["ours"]} == answer["ours"]
    assert set(answer["sent"]) - set(answer["ours"]) == set(EXPLAINED)


def test_the_example_of_the_documentation_runs(
    aws: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    Path("train.py").write_text("import horovod.tensorflow as hvd\n")
    exec(compile(example, "docs/notebooks.md", "exec"), {})
    (sent,) = aws.sent("CreateTrainingJob")
    assert sent["Environment"]["LAUNCH_WORLD_SIZE"] == "8"

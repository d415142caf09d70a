"""A second implementation of the service, which is not ours: moto's server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.backends import get_backend
from moto.server import ThreadedMotoServer

from launchers.cli.failures import report
from launchers.cli.main import run as launch
from launchers.core.cloud import errors
from launchers.core.model.problems import LaunchError
from launchers.core.records.ledger import Ledger
from launchers.sagemaker.service.errors import is_missing, message_of

ROLE = "arn:aws:iam::123456789012:role/training"


@pytest.fixture
def moto(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name in [name for name in os.environ if name.startswith(("AWS_", "LAUNCH_"))]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "LAUNCH_HOME": str(tmp_path / "home"),
        "LAUNCH_POLL_SECONDS": "0.01",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(errors, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(errors, "_LONGEST_WAIT", 0.001)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    monkeypatch.chdir(tmp_path / "project")
    yield f"http://{host}:{port}"
    server.stop()


def code_of(*words: str) -> int:
    try:
        return launch(list(words))
    except LaunchError as error:
        return report(error)


@pytest.mark.processes  # moto's server imports all of its services
def test_a_whole_submission_is_taken(moto: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = (
        "sagemaker", "train.py", "--instances", "2", "--gpus", "4", "--role", ROLE,
        "--bucket", "training-bucket", "--detach",
    )  # fmt: skip
    boto3.client("s3", endpoint_url=moto, region_name="us-east-1").create_bucket(
        Bucket="training-bucket"
    )
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "sagemaker.amazonaws.com"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
    boto3.client("iam", endpoint_url=moto, region_name="us-east-1").create_role(
        RoleName="training", AssumeRolePolicyDocument=json.dumps(trust)
    )
    first = code_of(*words)
    told = capfd.readouterr()
    assert first == 0, told.err
    (entry,) = Ledger().jobs()
    # While it runs, the same command sends nothing.
    running = get_backend("sagemaker")["123456789012"]["us-east-1"].training_jobs
    running[entry.name].training_job_status = "InProgress"
    assert code_of(*words) == 0
    told = capfd.readouterr()
    assert f"{entry.name} is in progress: nothing is sent" in told.err
    assert list(running) == [entry.name]
    assert len(Ledger().jobs()) == 1
    # moto has no StopTrainingJob: its answer is one line, and the job goes on.
    assert code_of("cancel", entry.name) == 5
    told = capfd.readouterr()
    assert len(told.err.strip().splitlines()) == 1, told.err
    assert "an answer that cannot be read: a page of HTML (500)" in told.err
    assert running[entry.name].training_job_status == "InProgress"
    running[entry.name].training_job_status = "Completed"
    # moto ends a job at once, and leaves its Environment out: its size is the ledger's.
    assert code_of("wait", entry.name) == 1
    told = capfd.readouterr()
    assert "not proven" in told.err + told.out
    assert "world size 0" not in told.err + told.out
    assert "world size 8" in told.err + told.out
    assert code_of("list") == 0
    second = code_of(*words, "--again")
    assert second == 0, capfd.readouterr().err
    newest = Ledger().jobs()[0]
    assert newest.run == 2
    told = capfd.readouterr()
    assert code_of("cancel", newest.name) in (0, 1, 5)
    told = capfd.readouterr()
    assert len([line for line in told.err.splitlines() if line.startswith("error")]) <= 1
    assert "defect" not in told.err
    assert "<" not in told.err


@pytest.mark.parametrize(
    ("code", "message", "missing"),
    [
        ("ValidationException", "Could not find training job 'arn:x'.", True),
        ("ValidationException", "Requested resource not found.", True),
        ("ValidationException", "1 validation error detected", False),
        ("ThrottlingException", "Could not find", False),
    ],
)
def test_a_job_that_is_not_there_is_known_by_either_wording(
    code: str, message: str, missing: bool
) -> None:
    error = ClientError({"Error": {"Code": code, "Message": message}}, "DescribeTrainingJob")
    assert is_missing(error) is missing


@pytest.mark.parametrize("page", ["<!DOCTYPE html>\n<p>quota", " <html>x", "<?xml version='1.0'?>"])
def test_a_page_of_html_is_one_line(page: str) -> None:
    told = message_of(ClientError({"Error": {"Code": "429", "Message": page}}, "X"))
    assert told == "an answer that cannot be read: a page of HTML (429)"

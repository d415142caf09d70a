"""Submitting to a service on loopback, and following a long log, beside the SageMaker SDK 2.x."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.benchmarks.measure import (
    Cost,
    cost_of,
    interleaved,
    print_costs,
    print_followed,
    quiet_environment,
)
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.fakes.log_lines import Generated
from tests.fakes.sagemaker_service import SageMakerService
from tests.places import ROOT

HOSTS, LINES = 20, 10_000
_JOB = "followed"
_SDK_SUBMIT = """\
import sys
from sagemaker.tensorflow import TensorFlow
role, bucket, name = sys.argv[1:]
TensorFlow(
    entry_point="train.py", source_dir=".", role=role, instance_count=2,
    instance_type="ml.g5.12xlarge", framework_version="2.12", py_version="py310",
    code_location=f"s3://{bucket}/sdk", output_path=f"s3://{bucket}/out",
    distribution={"mpi": {"enabled": True, "processes_per_host": 4}},
    hyperparameters={"seed": name}, base_job_name=f"sdk-{name}", disable_profiler=True,
).fit(wait=False)
"""
_FOLLOW = {
    "launch logs": """\
import sys, time
sys.stdout = open("/dev/null", "w")
from launchers.cli.main import run
start = time.perf_counter()
run(["logs", "sagemaker:%(job)s", "--region", "us-east-1"])
""",
    "SageMaker SDK 2.x logs_for_job": """\
import sys, time
from sagemaker.session import Session
sys.stdout = open("/dev/null", "w")
start = time.perf_counter()
Session().logs_for_job("%(job)s", wait=False)
""",
}


def run(runs: int) -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as name, SageMakerService() as aws:
        folder = Path(name) / "project"
        folder.mkdir()
        (folder / "train.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
        home = str(Path(name) / "home")
        environment = quiet_environment(
            **{**aws.environment(), "PYTHONPATH": str(ROOT), "LAUNCH_HOME": home}
        )
        aws.account.limit("ml.g5.12xlarge", 100_000)
        _submission(aws, folder, environment, runs)
        _following(aws, folder, environment, runs)


def _submission(
    aws: SageMakerService, folder: Path, environment: dict[str, str], runs: int
) -> None:
    aws.jobs.scenario = Scenario(pace=BY_HAND)
    script = folder.parent / "submit_by_sdk.py"
    script.write_text(_SDK_SUBMIT)
    number = iter(range(1_000_000))

    def ours() -> list[str]:
        where = ["--role", aws.role_arn, "--bucket", aws.bucket]
        job = ["sagemaker", "train.py", "--instances", "2", "--gpus", "4", "--detach"]
        command = [sys.executable, "-m", "launchers.cli.main", *job, *where]
        return [*command, "--", "--seed", str(next(number))]

    def sdk() -> list[str]:
        return [sys.executable, str(script), aws.role_arn, aws.bucket, str(next(number))]

    def cost(words: Callable[[], list[str]]) -> Cost:
        return cost_of(words(), folder, environment)

    def dry_run() -> list[str]:
        return [word if word != "--detach" else "--dry-run" for word in ours()]

    measures = {
        "launch sagemaker --dry-run": partial(cost, dry_run),
        "launch sagemaker --detach, with preflight": partial(cost, ours),
        "SageMaker SDK 2.x, fit(wait=False)": partial(cost, sdk),
    }
    costs = interleaved(measures, runs)
    budgets = {
        "launch sagemaker --dry-run": "0.20",
        "launch sagemaker --detach, with preflight": "0.8",
    }
    print_costs(
        f"The request of a job of 2 hosts: printed, and sent to a service on loopback, "
        f"median of {runs} runs",
        costs,
        budgets,
    )


def _following(aws: SageMakerService, folder: Path, environment: dict[str, str], runs: int) -> None:
    aws.jobs.checks_account = False
    lines = {
        f"algo-{host}": Generated(LINES, lambda index, host=host: (index, f"{host}: line {index}"))
        for host in range(1, HOSTS + 1)
    }
    aws.jobs.scenario = Scenario(lines=lines)
    _create(aws)
    aws.jobs.run_to(_JOB, "Completed")
    print_followed(
        f"Printing a log of {HOSTS * LINES:,} lines of {HOSTS} hosts, median of {runs} runs",
        {label: program % {"job": _JOB} for label, program in _FOLLOW.items()},
        HOSTS * LINES,
        folder,
        environment,
        runs,
    )


def _create(aws: SageMakerService) -> None:
    """The job whose log is read, made without either of the two."""
    import botocore.session

    for name, value in aws.environment().items():
        os.environ[name] = value
    client = botocore.session.get_session().create_client("sagemaker", region_name="us-east-1")
    client.create_training_job(
        TrainingJobName=_JOB,
        AlgorithmSpecification={"TrainingImage": "image", "TrainingInputMode": "File"},
        RoleArn=aws.role_arn,
        OutputDataConfig={"S3OutputPath": f"s3://{aws.bucket}/out"},
        ResourceConfig={
            "InstanceType": "ml.g5.12xlarge",
            "InstanceCount": HOSTS,
            "VolumeSizeInGB": 30,
        },
        StoppingCondition={"MaxRuntimeInSeconds": 60},
    )

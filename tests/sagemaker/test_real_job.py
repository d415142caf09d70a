"""From the command line to a proven world size with nothing imitated but AWS's front door.

The command uploads and submits to the service on loopback; the service runs what it was sent in
containers, through AWS's own toolkit, mpirun and Horovod; the command follows the true lines.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from launchers.core.records.nonce import filled_text
from tests.cli.command import Answer, Launch
from tests.fakes.job_descriptions import model_uri
from tests.fakes.job_scenarios import Scenario
from tests.fakes.rehearsal_runner import code_place, rehearsed
from tests.fakes.sagemaker_service import SageMakerService
from tests.fakes.stamps import nonce_of
from tests.real_jobs import BROKEN, by_tag, our_image

pytestmark = [pytest.mark.docker, pytest.mark.horovod, pytest.mark.timeout(600)]

# A machine without GPUs, one rank a host.
SMALL = ("--instances", "2", "--gpus", "0", "--machine", "ml.c5.xlarge")
PROOF = "world size 2: 2 hosts x 1 rank, MPI"
TRAINED = f"{PROOF}; gradients exchanged, weights equal"


@pytest.fixture(scope="session")
def image() -> str:
    return our_image()


@pytest.fixture
def aws(image: str, tmp_path: Path) -> Iterator[SageMakerService]:
    """The service; every job that it accepts runs on this machine."""
    with SageMakerService() as service:
        runner = rehearsed(service.objects, image, tmp_path / "hosts", ranks_per_host=1)
        service.jobs.scenario = Scenario(runner=runner)
        service.account.images[service.account.id, "horovod"] = {"1": "sha256:" + 64 * "a"}
        yield service


def submit(launch: Launch, aws: SageMakerService, *words: str) -> Answer:
    """`launch sagemaker` of a small job, followed to its end."""
    return ask(launch, aws, *command(aws, *words))


def ask(launch: Launch, aws: SageMakerService, *words: str) -> Answer:
    """Any command, as a shell would give it later."""
    return launch(*words, **aws.environment(), LAUNCH_POLL_SECONDS="0.5")


def command(aws: SageMakerService, *words: str) -> tuple[str, ...]:
    """The words of a small job; its image is one that the account's registry has."""
    registry = f"{aws.account.id}.dkr.ecr.us-east-1.amazonaws.com"
    account = ("--role", aws.role_arn, "--bucket", aws.bucket)
    return ("sagemaker", *SMALL, "--image", f"{registry}/horovod:1", *account, *words)


def test_a_job_from_the_command_line_trains_on_two_hosts_and_is_proven(
    launch: Launch, aws: SageMakerService
) -> None:
    answer = submit(launch, aws, "--", "--epochs", "1")
    assert answer.code == 0, answer.err
    (job,) = aws.jobs
    assert f"[algo-1/0] launch: proof: {PROOF}" in answer.out.splitlines()
    assert any(line.startswith("[algo-2] ") for line in answer.out.splitlines())
    assert "SageMaker: training" in answer.err
    assert f"succeeded  {job.name}: {TRAINED}" in answer.err
    assert f"model  s3://{aws.bucket}/" in answer.err

    (sent,) = aws.received("CreateTrainingJob")
    printed = ask(launch, aws, *command(aws, "--dry-run", "--", "--epochs", "1"))
    meant = filled_text(printed.out, nonce_of(json.loads(sent.body)))
    assert sent.body == meant.encode(), "what trained is what a dry run prints"
    assert "src/train_image_classifier.py" in names_in(aws, code_place(job.document))
    assert "model.keras" in names_in(aws, model_uri(job))

    (listed,) = ask(launch, aws, "list", "--json").json
    told = (listed["name"], listed["state"], listed["proof"], listed["world_size"])
    assert told == (job.name, "succeeded", TRAINED, 2)
    later = ask(launch, aws, "logs", job.name)
    assert by_tag(later.out) == by_tag(answer.out)
    assert ask(launch, aws, "wait", job.name).code == 0


def test_a_script_with_a_bug_ends_with_1_its_rank_and_its_traceback(
    launch: Launch, aws: SageMakerService
) -> None:
    launch.write("train.py", BROKEN)
    answer = submit(launch, aws, "train.py")
    assert answer.code == 1, answer.err
    (job,) = aws.jobs
    assert job.status == "Failed"
    told = answer.out + answer.err
    assert "[algo-2/1] Traceback (most recent call last):" in answer.out
    assert "KeyError: 'validate'" in told
    assert f"failed  {job.name}: rank 1 on algo-2 failed first: " in answer.err
    assert f"the rest: launch logs {job.name} --rank 1" in answer.err
    rest = ask(launch, aws, "logs", job.name, "--rank", "1")
    assert "KeyError: 'validate'" in rest.out
    (listed,) = ask(launch, aws, "list", "--json").json
    assert (listed["state"], listed["proof"]) == ("failed", PROOF)


def names_in(aws: SageMakerService, uri: str) -> list[str]:
    """The names in an archive of the service's S3."""
    stored = aws.objects.get(uri)
    assert stored is not None, uri
    with tarfile.open(fileobj=io.BytesIO(stored.read())) as archive:
        return archive.getnames()

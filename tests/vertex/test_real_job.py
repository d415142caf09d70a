"""From the command line to a proven world size with nothing imitated but Google's front door.

The command uploads and submits to the service on loopback; the service runs what it was sent in
containers, through our bootstrap, our agent and Horovod over Gloo; the command follows the true
lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.cloud.aiplatform_v1 import CustomJob

from launchers.core.records.nonce import filled_text
from tests.cli.command import Answer, Launch
from tests.fakes.google_rehearsal import rehearsed
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.stamps import nonce_of
from tests.fakes.vertex_service import LOCATION, VertexService
from tests.keras_2 import KERAS_2
from tests.real_jobs import BROKEN, by_tag, our_image

pytestmark = [pytest.mark.docker, pytest.mark.horovod, pytest.mark.timeout(600)]

# A machine without GPUs, one rank a host.
SMALL = ("--instances", "2", "--gpus", "0", "--machine", "n1-standard-4", "--processes", "1")
PROOF = "world size 2: 2 hosts x 1 rank, Gloo"
TRAINED = f"{PROOF}; gradients exchanged, weights equal"


@pytest.fixture(scope="session")
def image() -> str:
    return our_image()


@pytest.fixture
def google(image: str, tmp_path: Path) -> Iterator[VertexService]:
    """The service; every job that it accepts runs on this machine."""
    with VertexService() as service:
        runner = rehearsed(service.objects, image, tmp_path / "hosts", ranks_per_host=1)
        service.jobs.scenario = VertexScenario(runner=runner)
        service.account.add_image(LOCATION, "ranks", "horovod", "sha256:" + 64 * "a", "1")
        yield service


def submit(launch: Launch, google: VertexService, *words: str) -> Answer:
    """`launch vertex` of a small job, followed to its end."""
    return ask(launch, google, *command(google, *words))


def ask(launch: Launch, google: VertexService, *words: str) -> Answer:
    """Any command, as a shell would give it later."""
    return launch(*words, **google.environment(), LAUNCH_POLL_SECONDS="0.5")


def command(google: VertexService, *words: str) -> tuple[str, ...]:
    """The words of a small job; its image is one that the project's registry has."""
    image = f"{LOCATION}-docker.pkg.dev/{google.account.project}/ranks/horovod:1"
    return ("vertex", *SMALL, "--image", image, "--bucket", google.bucket, *words)


def test_a_job_from_the_command_line_trains_on_two_replicas_and_is_proven(
    launch: Launch, google: VertexService
) -> None:
    answer = submit(launch, google, "--", "--epochs", "1")
    assert answer.code == 0, answer.err
    (job,) = google.jobs
    lines = answer.out.splitlines()
    assert f"[workerpool0-0/0] launch: proof: {PROOF}" in lines
    assert "[workerpool0-0] launch: workerpool1-0 is here, 2 of 2 hosts" in lines
    assert f"succeeded  {job.name}: {TRAINED}" in answer.err
    assert f"model  gs://{google.bucket}/launch/output/{job.name}/model" in answer.err

    (sent,) = google.received("customJobs.create")
    printed = ask(launch, google, *command(google, "--dry-run", "--", "--epochs", "1"))
    meant = filled_text(printed.out, nonce_of(json.loads(sent.body)))
    assert CustomJob.from_json(sent.body) == CustomJob.from_json(meant)
    models = google.objects.keys(f"gs://{google.bucket}/launch/output/{job.name}/model/")
    assert any(name.endswith("model.keras") for name in models), models

    (listed,) = ask(launch, google, "list", "--json").json
    told = (listed["name"], listed["state"], listed["proof"], listed["world_size"])
    assert told == (job.name, "succeeded", TRAINED, 2)
    later = ask(launch, google, "logs", job.name)
    assert by_tag(later.out) == by_tag(answer.out)
    assert ask(launch, google, "wait", job.name).code == 0


def test_a_script_with_a_bug_ends_with_1_its_rank_and_its_traceback(
    launch: Launch, google: VertexService
) -> None:
    launch.write("train.py", BROKEN)
    answer = submit(launch, google, "train.py")
    assert answer.code == 1, answer.err
    (job,) = google.jobs
    assert job.state == "FAILED"
    assert "[workerpool1-0/1] Traceback (most recent call last):" in answer.out
    assert "KeyError: 'validate'" in answer.out + answer.err
    assert f"failed  {job.name}: rank 1 on workerpool1-0 failed first: " in answer.err
    assert f"the rest: launch logs {job.name} --rank 1" in answer.err
    rest = ask(launch, google, "logs", job.name, "--rank", "1")
    assert "KeyError: 'validate'" in rest.out
    (listed,) = ask(launch, google, "list", "--json").json
    assert (listed["state"], listed["proof"]) == ("failed", PROOF)


def test_arguments_reach_every_rank_as_they_were_written(
    launch: Launch, google: VertexService
) -> None:
    words = ["--name", 'it\'s "quoted" $(HOME) $HOME', "two\nlines", "ü → ✓", "", "--", "*"]
    launch.write(
        "train.py",
        KERAS_2 + "import json, sys\nimport horovod.tensorflow as hvd\nhvd.init()\n"
        "print('words', json.dumps(sys.argv[1:]))\n",
    )
    answer = submit(launch, google, "train.py", "--", *words)
    assert answer.code == 0, answer.err
    told = [line.partition("words ")[2] for line in answer.out.splitlines() if "words " in line]
    assert [json.loads(text) for text in told] == [words, words]

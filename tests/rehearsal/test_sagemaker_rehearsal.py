"""SageMaker's request in containers, through AWS's own toolkit, mpirun and Horovod."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.containers import Conduct, Container
from launchers.core.model.document import document_text
from launchers.core.model.jobs import JobDefinition
from launchers.core.proof import NO_NONCE
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.run import rehearse as run_rehearsal
from launchers.sagemaker.launcher import SageMakerContract
from tests.cli.command import Answer, Launch
from tests.places import ENTRYPOINTS
from tests.rehearsal.boxes import Heard, things_of
from tests.rehearsal.requests import (
    LASTS,
    RESUMES,
    SMALL,
    TELLS,
    foreign,
    rehearse,
    request,
    seen_by_ranks,
    source,
)
from tests.waiting import until

pytestmark = [pytest.mark.docker, pytest.mark.horovod, pytest.mark.timeout(600)]

MPI_OPTIONS = "sagemaker_mpi_custom_mpi_options"


def test_the_shared_script_trains_and_is_proven(
    launch: Launch, toolkit_image: str, client: Any
) -> None:
    asked = ("sagemaker", *SMALL, "--processes", "2", "--image", toolkit_image)
    arguments = ("--", "--epochs", "2")
    printed = launch(*asked, "--dry-run", *arguments)
    answer = launch(*asked, "--dry-run=docker", "--json", *arguments)
    assert answer.code == 0, answer.err
    result = answer.json
    assert result["state"] == "succeeded"
    trained = "world size 4: 2 hosts x 2 ranks, MPI; gradients exchanged, weights equal"
    assert result["proof"] == trained
    assert (result["world_size"], result["document_world_size"]) == (4, 4)
    assert "the toolkit's own sleep after mpirun" in result["seconds"]
    assert "mpirun --host algo-1:2,algo-2:2 -np 4 ..." in answer.err
    assert "Training Env:" not in answer.err, "the story alone"
    # A busy machine takes more seconds, each of which has a line of progress.
    told = [line for line in answer.err.splitlines() if "progress: " not in line]
    assert len(told) < 80
    left_out = "lines of AWS's toolkit, mpirun and frameworks that were left out"
    assert left_out in answer.err
    assert "Training Env:" in Path(result["folder"], "rehearsal.log").read_text()
    consumed = Path(result["folder"], "document.json").read_text()
    assert consumed == printed.out, "what ran is what a dry run prints, byte for byte"
    assert Path(result["collected"]["model of algo-1"], "model.keras").stat().st_size > 0
    assert any("model.keras not there" in line for line in result["differences"])
    assert things_of(client, result["name"]) == []


def test_environment_and_arguments_arrive_equal_in_every_rank_of_both_hosts(
    launch: Launch, toolkit_image: str
) -> None:
    environment = {
        "HASH": "http://x/y#frag",
        "QUOTES": "a \"b\" 'c'",
        "BLANKS": "  a  b ",
        "LINES": "one\ntwo",
        "DOLLAR": "$HOME `x` \\n",
    }
    arguments = ["--lr", "1.10", "--flag", "--name", "a b", "-v", "-v", "file#1", "", "x\ny", '"q"']
    words = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
    launch.write("train.py", TELLS)
    tell = ("--env", f"TELL={json.dumps(list(environment))}")
    document = request(
        launch,
        toolkit_image,
        "--processes",
        "1",
        *words,
        *tell,
        "--",
        *arguments,
        script="train.py",
    )
    answer = rehearse(launch, document, "--source", str(launch.folder))
    assert answer.code == 0, answer.err
    ranks = seen_by_ranks(answer)
    assert [(rank["rank"], rank["host"]) for rank in ranks] == [(0, "algo-1"), (1, "algo-2")]
    for rank in ranks:
        assert rank["environment"] == environment
        assert rank["argv"] == arguments


def test_a_correct_document_from_elsewhere_is_proven(launch: Launch, toolkit_image: str) -> None:
    folder = source(launch, TELLS)
    answer = rehearse(launch, foreign(toolkit_image), "--source", str(folder))
    assert answer.code == 0, answer.err
    result = answer.json
    assert result["proof"] == f"world size 2: 2 hosts x 1 rank, MPI ({NO_NONCE})"
    assert any("on PYTHONPATH" in text for text in result["deviations"])
    assert any("served beside the containers" in text for text in result["deviations"])
    assert [rank["host"] for rank in seen_by_ranks(answer)] == ["algo-1", "algo-2"]


def test_without_mpi_a_document_is_refused_and_fails_when_it_runs_all_the_same(
    launch: Launch, toolkit_image: str
) -> None:
    folder = source(launch, TELLS)
    document = foreign(toolkit_image, ranks=2)
    for name in ("sagemaker_mpi_enabled", "sagemaker_mpi_num_of_processes_per_host"):
        del document["HyperParameters"][name]
    words = ("--source", str(folder), "--world-size", "4")
    refused = rehearse(launch, document, *words)
    assert refused.code == 2
    assert "sagemaker_mpi_enabled" in refused.err
    answer = rehearse(launch, document, *words, "--despite-problems")
    assert answer.code == 1
    assert answer.json["state"] == "failed"
    reason = answer.json["reason"]
    assert reason.startswith("2 jobs of world size 1 where one of 4 was expected: algo-"), reason
    assert "expected world size 4" in reason, "the hook's own word"


def test_a_document_that_starts_fewer_ranks_than_meant_fails(
    launch: Launch, toolkit_image: str
) -> None:
    folder = source(launch, TELLS)
    document = foreign(toolkit_image, hyperparameters={"sagemaker_mpi_num_processes": "1"})
    words = ("--source", str(folder), "--despite-problems")
    answer = rehearse(launch, document, *words)
    assert (answer.code, answer.json["state"]) == (1, "failed")
    assert "expected world size 2" in answer.json["reason"]


def test_an_mpi_option_that_makes_the_toolkit_leave_is_not_proven(
    launch: Launch, toolkit_image: str
) -> None:
    folder = source(launch, TELLS)
    document = foreign(toolkit_image, hyperparameters={MPI_OPTIONS: '"-host algo-1"'})
    refused = rehearse(launch, document, "--source", str(folder))
    assert refused.code == 2
    answer = rehearse(launch, document, "--source", str(folder), "--despite-problems")
    assert (answer.code, answer.json["state"]) == (1, "not proven")
    assert answer.json["reason"].startswith("completed, but no line of its output proves")
    assert "mpirun never started" in answer.json["reason"]


class WithAnotherInterface(SageMakerContract):
    """SageMaker's contract with the interface name that the SDK 3's local mode writes."""

    def containers(
        self,
        definition: JobDefinition,
        ranks_per_host: int | None = None,
        serve_code: bool = True,
    ) -> list[Container]:
        path = "/opt/ml/input/config/resourceconfig.json"
        return [
            replace(host, files={**host.files, path: _renamed(host.files[path])})
            for host in super().containers(definition, ranks_per_host, serve_code)
        ]


def _renamed(content: object) -> bytes:
    assert isinstance(content, bytes)
    return content.replace(b"eth0", b"ethwe")


def test_a_wrong_network_interface_is_named(
    launch: Launch, toolkit_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = source(launch, TELLS)
    document = foreign(toolkit_image)
    definition = JobDefinition("sagemaker", "ethwe", 2, document_text(document), document)
    monkeypatch.setenv("LAUNCH_HOME", str(launch.home))
    options = RehearsalOptions(source=str(folder))
    result = run_rehearsal(WithAnotherInterface(), definition, None, options, Heard())
    assert result.state == "failed"
    assert result.reason == (
        "algo-1 ended with code 1: mpirun was told to use the network interface ethwe, which the "
        "container does not have; its own is eth0"
    )


def test_an_mpi_parameter_that_the_toolkit_sets_itself_is_named(
    launch: Launch, toolkit_image: str
) -> None:
    options = json.dumps("--mca oob_tcp_if_include eth0")
    document = foreign(toolkit_image, hyperparameters={MPI_OPTIONS: options})
    words = ("--source", str(source(launch, TELLS)), "--despite-problems")
    answer = rehearse(launch, document, *words)
    assert (answer.code, answer.json["state"]) == (1, "failed")
    assert "--mca oob_tcp_if_include stands in" in answer.json["reason"]


@pytest.fixture
def image_without_sshd(client: Any, toolkit_image: str, tmp_path: Path) -> Iterator[str]:
    """Our image, less its SSH daemon."""
    (tmp_path / "Dockerfile").write_text(f"FROM {toolkit_image}\nRUN rm /usr/sbin/sshd\n")
    tag = f"launch-test-without-sshd:{tmp_path.name[-20:].strip('_').lower()}"
    client.images.build(path=str(tmp_path), tag=tag, rm=True, forcerm=True)
    yield tag
    client.images.remove(tag, force=True)


def test_a_missing_sshd_is_named_before_any_container(
    launch: Launch, image_without_sshd: str, client: Any
) -> None:
    folder = source(launch, TELLS)
    answer = rehearse(launch, foreign(image_without_sshd), "--source", str(folder))
    assert answer.code == 2
    assert f"{image_without_sshd}: sshd: not there" in answer.err
    assert things_of(client, "from-elsewhere") == []


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("a rank", "rank 1 on algo-2 was ended by signal 9 (Killed)"),
        ("a host", "algo-2 ended with code 137 (SIGKILL)"),
    ],
)
def test_what_is_killed_is_named(
    fault: str, reason: str, launch: Launch, toolkit_image: str, client: Any
) -> None:
    launch.write("train.py", LASTS)
    process = launch.start(
        "sagemaker",
        "train.py",
        *SMALL,
        "--processes",
        "1",
        "--image",
        toolkit_image,
        "--name",
        "killed",
        "--dry-run=docker",
        "--json",
    )
    try:
        host = until(lambda: _training(client), "algo-2 trains")
        if fault == "a host":
            host.kill()
        else:
            host.exec_run(["python3", "-c", _KILL_GUARD])
        out, err = process.communicate(timeout=200)
    finally:
        process.kill()
        process.wait()
    answer = Answer(process.returncode, out, err)
    assert (answer.code, answer.json["state"]) == (1, "failed"), answer.err
    assert reason in answer.json["reason"]


# The image has no pkill.
_KILL_GUARD = """
import os, pathlib
for entry in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        words = (entry / "cmdline").read_bytes().split(b"\\0")
    except OSError:
        continue
    if b"guard.py" in words and int(entry.name) != os.getpid():
        os.kill(int(entry.name), 9)
"""


def _training(client: Any) -> Any:
    """The second host, once rank 0 has shown the proof."""
    for container in client.containers.list(filters={"label": "launch.rehearsal.id"}):
        if not container.labels["launch.rehearsal.job"].startswith("killed-"):
            continue
        if container.name.endswith("algo-1") and b"launch: proof: " in container.logs():
            return client.containers.get(container.name.replace("algo-1", "algo-2"))
    return None


def test_fewer_ranks_are_told_and_proven_also_by_adasum(launch: Launch, toolkit_image: str) -> None:
    script = str(ENTRYPOINTS / "train_custom_loop.py")
    sync = ("--", "--epochs", "1", "--sync", "adasum")
    document = request(launch, toolkit_image, "--processes", "2", *sync, script=script)
    words = ("--source", str(ENTRYPOINTS), "--ranks-per-host", "1")
    answer = rehearse(launch, document, *words)
    assert answer.code == 0, answer.err
    result = answer.json
    assert (result["world_size"], result["document_world_size"]) == (2, 4)
    trained = "world size 2: 2 hosts x 1 rank, MPI; gradients exchanged (Adasum), weights equal"
    assert result["proof"] == trained
    assert "rehearsed with 2 of 4 ranks" in answer.err
    assert "1 rank a host: world size 2 instead of 4" in result["deviations"]
    assert answer.err.index("deviation") < answer.err.index("[algo-1]"), "told first"
    consumed = json.loads(Path(result["folder"], "document.json").read_text())
    assert consumed == document, "never written into the document"


class ImpatientSageMaker(SageMakerContract):
    """SageMaker that gives 2 s instead of 120 between SIGTERM and SIGKILL."""

    def conduct(self, definition: JobDefinition) -> Conduct:
        return replace(super().conduct(definition), stop_grace=2.0)


def test_an_interrupted_training_goes_on_from_its_checkpoint(
    launch: Launch, toolkit_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch.write("train.py", RESUMES)
    document = request(launch, toolkit_image, "--processes", "1", script="train.py")
    definition = JobDefinition("sagemaker", "interrupted", 2, document_text(document), document)
    monkeypatch.setenv("LAUNCH_HOME", str(launch.home))
    options = RehearsalOptions(source=str(launch.folder), interrupt_after=20)
    result = run_rehearsal(ImpatientSageMaker(), definition, None, options, Heard())
    assert (result.state, result.reason) == ("succeeded", "")
    first, second = result.restarts
    assert first.startswith(
        "before the interruption: reached epoch 3/6, step 1/1; no rank saw SIGTERM: "
    )
    assert "process 1 of the container, the toolkit" in first
    assert second == "after the interruption: went on from epoch 4/6, reached epoch 6/6, step 1/1"


def test_ctrl_c_leaves_nothing(launch: Launch, toolkit_image: str, client: Any) -> None:
    launch.write("train.py", LASTS)
    process = launch.start(
        "sagemaker",
        "train.py",
        *SMALL,
        "--processes",
        "1",
        "--image",
        toolkit_image,
        "--name",
        "killed",
        "--dry-run=docker",
    )
    try:
        until(lambda: _training(client), "algo-2 trains")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "nothing of the rehearsal is left" in err
    label = {"label": "launch.rehearsal.id"}
    left = [
        item
        for item in client.containers.list(all=True, filters=label)
        if item.labels["launch.rehearsal.job"].startswith("killed-")
    ]
    assert left == []

"""Real MLflow: its client, its server that is killed and comes back, and servers of no use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.lib.tracking.servers import Answering, MLflowServer, Silent
from tests.entrypoints.lib.tracking.training import Training, environment
from tests.entrypoints.simulated import free_port
from tests.places import ROOT
from tests.waiting import until

pytestmark = pytest.mark.pip_network

AT_END = 120.0  # seconds that a run waits whose server comes back


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MLflowServer]:
    found = MLflowServer(tmp_path)
    found.start()
    yield found
    found.kill()


@pytest.fixture(scope="module")
def training() -> Iterator[Training]:
    with Training() as found:
        yield found


def folders(place: Path) -> list[str]:
    """Those of model and checkpoints."""
    made = [place / "model", place / "checkpoints"]
    for folder in made:
        folder.mkdir(parents=True, exist_ok=True)
    (made[0] / "model.keras").write_bytes(b"weights")
    (made[0] / "model.txt").write_bytes(b"what it is")
    return [str(folder) for folder in made]


def test_a_run_is_whole_though_its_server_was_killed_and_resumes_as_the_same(
    server: MLflowServer, training: Training, tmp_path: Path
):
    model, checkpoints = folders(tmp_path)
    uri = {"MLFLOW_TRACKING_URI": server.address, "LAUNCH_JOB": "digits-1f2e3d4c-1"}
    server.wait()
    training("a", "make", ["mlflow"], model, checkpoints, AT_END, uri)
    parameters = {"epochs": 3, "world_size": 2, "of what?!": "x"}
    training("a", "begin", parameters, {"launch.provider": "local"})
    training("a", "metrics", 10, {"loss": 0.5})
    assert "of what?!" in training.until("does not take all of the run's parameters")
    (run,) = until_runs(server, 1)
    server.kill()
    training("a", "metrics", 20, {"loss": 0.25})  # returns, though nobody is there
    training("a", "tags", {"launch.proof.world": "world size 2: 1 host x 2 ranks"})
    training("a", "tags", {"launch.proof.way": "Gloo"})
    assert "the training goes on" in training.until("connection refused")
    server.start()
    training("a", "metrics", 30, {"loss": 0.125})
    training("a", "file", f"{model}/model.keras")
    training("a", "file", f"{model}/model.txt")
    training("a", "end")
    training.until(f"{server.address}/#/experiments/0/runs/{run}")
    server.wait()
    (found,) = server.runs()
    assert (found["info"]["status"], found["info"]["run_name"]) == ("FINISHED", uri["LAUNCH_JOB"])
    assert server.history(run, "loss") == [(10, 0.5), (20, 0.25), (30, 0.125)]
    assert found["params"] == {"epochs": "3", "world_size": "2"}
    assert found["tags"]["launch.provider"] == "local"
    assert found["tags"]["launch.proof.world"].startswith("world size 2")
    assert found["tags"]["launch.proof.way"] == "Gloo"
    assert server.artifacts() == ["model.keras", "model.txt"]

    training("b", "make", ["mlflow"], model, checkpoints, AT_END, uri)
    training("b", "begin", {"epochs": 3, "world_size": 4}, {"launch.provider": "local"})
    training("b", "metrics", 40, {"loss": 0.0625})
    training("b", "end")
    (again,) = server.runs()
    assert again["info"]["run_id"] == run
    assert again["tags"]["launch.changed"] == "world_size was 2, is 4"
    assert len(server.history(run, "loss")) == 4


def until_runs(server: MLflowServer, count: int) -> list[str]:
    """The ids of the runs, once there are so many and each has a metric."""

    def found() -> list[str] | None:
        runs = [one["info"]["run_id"] for one in server.runs()]
        there = len(runs) == count and all(server.history(run, "loss") for run in runs)
        return runs if there else None

    return until(found, "the first metric", seconds=120)


def test_what_no_server_took_is_sent_later_by_the_command_that_is_said(
    training: Training, tmp_path: Path
):
    model, checkpoints = folders(tmp_path)
    nobody = f"http://127.0.0.1:{free_port()}"
    training("c", "make", ["mlflow"], model, checkpoints, 0.0, {"MLFLOW_TRACKING_URI": nobody})
    training("c", "begin", {"epochs": 1}, {"kept": "yes"})
    training("c", "metrics", 10, {"loss": 0.5})
    training("c", "file", f"{model}/model.keras")
    training("c", "end")
    said = training.until("to send them: ")
    command = said.partition("to send them: ")[2].split()
    (kept,) = Path(model).glob("tracking-mlflow-*.jsonl")
    assert command[1:] == [str(ROOT / "entrypoints/send_tracking.py"), str(kept)]
    away = later(*command[1:])
    assert (away.returncode, kept.exists()) == (1, True)
    assert "connection refused" in away.stderr
    runs = tmp_path / "runs"
    sent = later(*command[1:], MLFLOW_TRACKING_URI=str(runs))
    assert (sent.returncode, kept.exists()) == (0, False), sent.stderr
    (metric,) = runs.glob("0/*/metrics/loss")
    assert metric.read_text().split()[1:] == ["0.5", "10"]
    run = metric.parent.parent
    assert (run / "params/epochs").read_text() == "1"
    assert (run / "tags/kept").read_text() == "yes"
    assert (run / "artifacts/model.keras").read_bytes() == b"weights"


def later(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command of Python's, to its end."""
    return subprocess.run(
        [sys.executable, *words],
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_an_older_start_has_kept_changes_nothing_of_a_later_one(
    server: MLflowServer, training: Training, tmp_path: Path
):
    checkpoints = folders(tmp_path)[1]
    older, newer = (folders(tmp_path / name)[0] for name in ("older", "newer"))
    Path(newer, "model.keras").write_bytes(b"weights of more epochs")
    nobody = f"http://127.0.0.1:{free_port()}"
    for number, model, uri in ((1, older, nobody), (2, newer, server.address)):
        server.wait()
        name = f"start {number}"
        training(name, "make", ["mlflow"], model, checkpoints, 0.0, {"MLFLOW_TRACKING_URI": uri})
        training(name, "begin", {"epochs": number, "seed": 1}, {"launch.job": name})
        training(name, "tags", {"launch.proof.world": name, f"only {number}": "x"})
        training(name, "metrics", 10 * number, {"loss": 0.5})
        training(name, "file", f"{model}/model.keras")
        training(name, "end", "FINISHED", AT_END * (number - 1))
    (before,) = server.runs()
    (kept,) = Path(older).glob("tracking-mlflow-*.jsonl")
    sent = later(
        str(ROOT / "entrypoints/send_tracking.py"), str(kept), MLFLOW_TRACKING_URI=server.address
    )
    assert (sent.returncode, kept.exists()) == (0, False), sent.stderr
    assert "model.keras of a later start is there, and stays" in sent.stdout
    (after,) = server.runs()
    assert after["info"] == before["info"]
    assert int(after["info"]["end_time"]) >= int(after["info"]["start_time"])
    assert after["tags"] == {**before["tags"], "only 1": "x"}
    assert after["params"] == before["params"]
    run = after["info"]["run_id"]
    assert server.history(run, "loss") == [(10, 0.5), (20, 0.5)]
    assert server.artifact("model.keras") == b"weights of more epochs"


def test_an_experiment_by_its_number_and_a_run_that_is_there_are_used(
    server: MLflowServer, tmp_path: Path
):
    model = folders(tmp_path)[0]
    server.wait()
    number = server.ask("experiments/create", name="digits")["experiment_id"]
    source = {"key": "mlflow.source.name", "value": "their own"}
    made = server.ask("runs/create", experiment_id=number, tags=[source])["run"]["info"]["run_id"]
    variables = {"MLFLOW_TRACKING_URI": server.address, "MLFLOW_EXPERIMENT_ID": number}
    ours = {"mlflow.source.name": "teller.py", "launch.job": "digits-1"}
    with Training() as training:
        for name in ("new", "theirs"):
            training(name, "make", ["mlflow"], model, None, AT_END, variables)
            training(name, "begin", {"epochs": 3}, ours)
            training(name, "metrics", 10, {"loss": 0.5})
            training(name, "end")
            training.until(f"{server.address}/#/experiments/{number}/runs/")
            variables["MLFLOW_RUN_ID"] = made
    assert server.runs() == []
    runs = {one["info"]["run_id"]: one for one in server.runs(number)}
    assert len(runs) == 2
    theirs = runs.pop(made)
    (new,) = runs.values()
    assert (new["tags"]["mlflow.source.name"], theirs["tags"]["mlflow.source.name"]) == (
        "teller.py",
        "their own",
    )
    for run in (new, theirs):
        assert (run["info"]["status"], run["params"]) == ("FINISHED", {"epochs": "3"})
        assert run["tags"]["launch.job"] == "digits-1"
        assert server.history(run["info"]["run_id"], "loss") == [(10, 0.5)]


def test_an_experiment_that_is_not_there_is_said_and_its_records_are_kept(
    server: MLflowServer, tmp_path: Path
):
    model, checkpoints = folders(tmp_path)
    server.wait()
    variables = {"MLFLOW_TRACKING_URI": server.address, "MLFLOW_EXPERIMENT_ID": "77"}
    with Training() as training:
        training("a", "make", ["mlflow"], model, checkpoints, 0.0, variables)
        training("a", "begin", {}, {})
        assert "77" in training.until("the training goes on")
        training("a", "end")
    (kept,) = Path(model).glob("tracking-mlflow-*.jsonl")
    assert json.loads(kept.read_text().splitlines()[0])["experiment_id"] == "77"


@pytest.mark.parametrize(("status", "told"), [(500, "answers 500"), (401, "unauthorized")])
def test_a_server_that_refuses_all_stops_nothing(
    training: Training, tmp_path: Path, status: int, told: str
):
    model, checkpoints = folders(tmp_path)
    refusing = Answering(status)
    try:
        uri = {"MLFLOW_TRACKING_URI": refusing.address}
        training("d", "make", ["mlflow"], model, checkpoints, 0.0, uri)
        training("d", "begin", {}, {})
        assert refusing.address in training.until(told)
        training("d", "metrics", 1, {"loss": 0.5})
        training("d", "end")
    finally:
        refusing.close()
    (kept,) = Path(model).glob("tracking-mlflow-*.jsonl")
    kinds = [json.loads(line).get("what") for line in kept.read_text().splitlines()]
    assert kinds == [None, "begin", "metrics", "end"]


def test_a_training_ends_while_its_server_still_owes_the_first_answer(tmp_path: Path):
    model, checkpoints = folders(tmp_path)
    silent = Silent()
    try:
        with Training() as training:
            uri = {"MLFLOW_TRACKING_URI": silent.address, "MLFLOW_TRACKING_TOKEN": "a-token"}
            training("e", "make", ["mlflow"], model, checkpoints, 0.0, uri)
            training("e", "begin", {}, {})
            assert "/mlflow/" in silent.wait_for_request()
            assert "Authorization: Bearer a-token\r\n" in silent.request
            for step in range(100):
                training("e", "metrics", step, {"loss": 0.5})
            assert silent.is_waited_for()
            training("e", "end")
            assert silent.is_waited_for()
            assert training.leave() == 0
    finally:
        silent.close()
    assert len(list(Path(model).glob("tracking-mlflow-*.jsonl"))) == 1

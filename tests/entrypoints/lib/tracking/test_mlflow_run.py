"""What records are to MLflow's client, without one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from entrypoints.lib.errors import TrainingError
from entrypoints.lib.tracking.mlflow_place import Store
from entrypoints.lib.tracking.mlflow_run import MLflowRun
from entrypoints.lib.tracking.records import record
from entrypoints.lib.tracking.sender import RefusedError


class Client:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.artifacts: list[str] = []

    def log_artifact(self, run: str, path: str) -> None:
        self.artifacts.append(path)


def test_a_file_that_is_not_there_is_refused_and_so_holds_up_nothing(tmp_path: Path):
    run, client = MLflowRun(Store("http://h", "http://h", "Default")), Client()
    run._client = client
    model = tmp_path / "model.pt"
    with pytest.raises(RefusedError, match=f"{model} is not there"):
        run.send([record("file", path=str(model))])
    model.write_bytes(b"weights")
    run.send([record("file", path=str(model))])
    assert client.artifacts == [str(model)]


class There(Client):
    """A client whose experiments have names and numbers."""

    def get_experiment_by_name(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(experiment_id="3", lifecycle_stage="active")


def test_a_name_and_a_number_that_are_not_of_one_experiment_are_said():
    run = MLflowRun(Store("http://h", "http://h", "digits", "7"))
    with pytest.raises(TrainingError, match=r"digits has the number 3 there, and MLFLOW_EXP.* 7"):
        run._experiment(There())
    assert MLflowRun(Store("http://h", "http://h", "digits", "3"))._experiment(There()) == "3"

"""By what a run is known: over restarts, to the launcher, and as the world that it was."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from entrypoints.lib.tracking import identity


def test_a_training_that_goes_on_from_checkpoints_is_the_same_run(tmp_path: Path):
    first = identity.run_key(str(tmp_path))
    assert identity.run_key(str(tmp_path)) == first
    assert identity.run_key(None) != first


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"run": 3}', '{"run": "a\'b"}'])
def test_a_key_that_is_none_is_replaced(tmp_path: Path, content: str):
    (tmp_path / identity.KEY_FILE).write_text(content, encoding="utf-8")
    key = identity.run_key(str(tmp_path))
    assert (len(key), identity.run_key(str(tmp_path))) == (32, key)


def test_a_folder_that_cannot_be_written_makes_a_new_run(tmp_path: Path):
    assert len(identity.run_key(str(tmp_path / "none" / "there"))) == 32


def test_without_a_launcher_a_run_has_the_scripts_name_and_its_own_key(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(sys, "argv", ["/src/train_torch.py", "--epochs", "3"])
    assert identity.run_name({}, "1f2e3d4c5b6a") == "train_torch-1f2e3d4c"
    assert identity.run_name({"LAUNCH_JOB": "digits-1"}, "1f2e3d4c5b6a") == "digits-1"


def test_the_launchers_tags_are_taken_over():
    tags = {"job": "digits-1f2e3d4c-1", "provider": "sagemaker", "machine": "ml.p3.8xlarge"}
    tags["world_size"] = "16"  # of the document; a rehearsal may have fewer ranks
    told = identity.launch_tags({"LAUNCH_TAGS": json.dumps(tags), "LAUNCH_WORLD_SIZE": "8"})
    expected = {f"launch.{name}": text for name, text in tags.items()}
    assert {**expected, "launch.world_size": "8"}.items() <= told.items()


@pytest.mark.parametrize("text", ["", "{", "[1]", "3"])
def test_tags_that_are_none_stop_nothing(text: str):
    told = identity.launch_tags({"LAUNCH_TAGS": text, "LAUNCH_WORLD_SIZE": "2"})
    assert (told["launch.world_size"], bool(told["launch.machine"])) == ("2", True)


def test_the_world_is_told_in_the_guards_words():
    tags = identity.proof_tags(["a", "a", "b", "b"], {"LAUNCH_WORLD_SIZE": "4"})
    assert tags == {
        "launch.proof.world": "world size 4: 2 hosts x 2 ranks",
        "launch.proof.ranks": "a: 0, 1; b: 2, 3",
        "launch.proof.promised": "4",
    }
    alone = identity.proof_tags(["a"], {})
    assert alone["launch.proof.world"] == "world size 1: 1 host x 1 rank"


def test_tags_of_mlflows_own_are_those_of_its_start_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["/src/train_torch.py"])
    monkeypatch.setenv("LOGNAME", "me")
    told = identity.launch_tags({"MLFLOW_RUN_CONTEXT": '{"mlflow.source.type": "JOB", "a": 1}'})
    assert told["mlflow.source.name"] == "train_torch.py"
    assert (told["mlflow.source.type"], told["mlflow.user"], told["a"]) == ("JOB", "me", "1")
    for text in ("{", "[1]", "3"):
        assert identity.launch_tags({"MLFLOW_RUN_CONTEXT": text})["mlflow.source.type"] == "LOCAL"


def test_a_user_without_a_name_stops_nothing(monkeypatch: pytest.MonkeyPatch):
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert "mlflow.user" not in identity.launch_tags({})

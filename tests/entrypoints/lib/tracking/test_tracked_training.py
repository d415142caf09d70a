"""The shared script on two real ranks: one run, with all that docs/tracking.md says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.entrypoints.lib.tracking.training import CLIENT
from tests.places import ROOT
from tests.sagemaker.released import installed

pytestmark = [pytest.mark.horovod, pytest.mark.pip_network]

SCRIPT = ROOT / "entrypoints" / "train_image_classifier.py"


def test_two_ranks_are_one_run_with_its_world_its_metrics_and_its_model(
    launch: Launch, tmp_path: Path
):
    words = ["--instances", "2", "--output-path", str(tmp_path), "--no-file"]
    words += ["--env", f"PYTHONPATH={installed(*CLIENT)}"]
    asked = ["--epochs", "2", "--limit", "200", "--track", "mlflow,tensorboard"]
    answer = launch("local", str(SCRIPT), *words, "--", *asked)
    assert answer.code == 0, answer.out + answer.err
    (model,) = tmp_path.glob("*/model")
    assert len(list((model / "tensorboard").iterdir())) == 1
    (run,) = [path.parent for path in model.glob("mlruns/0/*/meta.yaml")]
    tags = {path.name: path.read_text() for path in (run / "tags").iterdir()}
    assert tags["mlflow.runName"] == tags["launch.job"] == model.parent.name
    assert (tags["launch.provider"], tags["launch.world_size"]) == ("local", "2")
    assert tags["launch.proof.world"] == "world size 2: 2 hosts x 1 rank"
    assert tags["launch.proof.ranks"] == "host-1: 0; host-2: 1"
    parameters = {path.name: path.read_text() for path in (run / "params").iterdir()}
    assert (parameters["world_size"], parameters["limit"]) == ("2", "200")
    losses = (run / "metrics/loss").read_text().splitlines()
    steps = [int(line.split()[2]) for line in losses]
    assert steps == [steps[0], 2 * steps[0]]
    assert (run / "metrics/test_accuracy").exists()
    assert (run / "artifacts/model.keras").stat().st_size == (model / "model.keras").stat().st_size

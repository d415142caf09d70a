"""Command lines that ask for what does not go together: one clear message each, by its rule."""

from __future__ import annotations

import pytest

from tests.cli.command import Launch

HVD = "import horovod.tensorflow as hvd\nhvd.init()\n"
SWEEP = "sweep:\n  matrix:\n    instances: [2, 3]\n"
CLOUD = ("sagemaker", "train.py", "--gpus", "4")

REFUSED = [
    (("local", "train.py", "--dry-run=docker"), "", "no-rehearsal"),
    ((*CLOUD, "--dry-run", "--ranks-per-host", "1"), "", "flag-alone"),
    ((*CLOUD, "--dry-run", "--max-parallel", "2"), "", "flag-sweep"),
    (("local", "train.py", "--instances", "2"), SWEEP, "sweep-local"),
    ((*CLOUD, "--dry-run=docker"), SWEEP, "sweep-rehearsal"),
    (("local", "../elsewhere/train.py", "--source", "."), "", "script-outside-source"),
]


@pytest.mark.parametrize(("words", "file", "rule"), REFUSED, ids=[row[-1] for row in REFUSED])
def test_it_is_refused_before_anything_starts(
    launch: Launch, words: tuple[str, ...], file: str, rule: str
):
    launch.write("train.py", HVD)
    launch.write("../elsewhere/train.py", HVD)
    if file:
        launch.write("launch.yaml", file)
    answer = launch(*words)
    assert answer.code == 2
    assert f"[{rule}]" in answer.err
    assert launch("list").err.startswith("no jobs yet")


def test_a_rehearsal_without_an_engine_is_refused_by_preflight(launch: Launch):
    launch.write("train.py", HVD)
    answer = launch(*CLOUD, "--dry-run=docker", DOCKER_HOST="unix:///nosuch/docker.sock")
    assert answer.code == 4
    assert "[docker-engine]" in answer.err

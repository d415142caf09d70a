"""What the laptop's side says of JAX, tried on JAX itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from launchers.core.strategies import named
from tests.cli.command import Launch
from tests.entrypoints.strategies.jax_scripts import PACKAGES
from tests.sagemaker.released import installed

STRATEGY = named("jax")
SCRIPT = "import jax\njax.distributed.initialize()\n"


@pytest.mark.parametrize(
    ("asked", "gpus", "processes", "size"), [(None, 4, 4, 8), (1, 4, 1, 2), (None, 0, 1, 2)]
)
def test_there_is_one_process_a_gpu_or_one_a_host(
    asked: int | None, gpus: int, processes: int, size: int
):
    assert STRATEGY.processes(asked, gpus) == processes
    assert STRATEGY.world_size(2, processes, gpus) == size


@pytest.mark.parametrize("name", ["local", "vertex"])
def test_the_document_carries_the_strategy_and_the_ranks_places_are_reserved(
    launch: Launch, name: str
):
    launch.write("train.py", SCRIPT)
    # Nothing of the image or of this machine's Python is asked in a dry run's document.
    words = ("--gpus", "4", "--image", "us-docker.pkg.dev/p/r/jax:1") if name == "vertex" else ()
    answer = launch(name, "train.py", *words, "--processes", "2", "--dry-run")
    if name == "local":  # whose Python has no JAX
        assert (answer.code, "has no JAX" in answer.err) == (2, True), answer.err
        assert "pip install jax" in answer.err
        return
    assert answer.code == 0, answer.err
    assert '"LAUNCH_STRATEGY"' in json.dumps(answer.json)
    assert "jax  (train.py:2 calls jax.distributed.initialize)" in answer.err
    refused = launch(name, "train.py", *words, "--env", "JAX_PROCESS_ID=0", "--dry-run")
    assert (refused.code, "[env-reserved]" in refused.err) == (2, True), refused.err


@pytest.mark.pip_network
@pytest.mark.parametrize("part", ["jax", "ranks"])
def test_an_image_with_jax_answers_for_each_part(part: str):
    if sys.version_info < (3, 11):
        pytest.skip("jax 0.10 needs Python 3.11")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    done = subprocess.run(
        [sys.executable, "-c", STRATEGY.image.programs[part]],
        env={**kept, "PYTHONPATH": str(installed(*PACKAGES))},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert f"ANSWER {part} " in done.stdout, done.stderr

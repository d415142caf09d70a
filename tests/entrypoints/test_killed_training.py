"""Killed at random moments and started again, a training ends where an undisturbed one does.

LAUNCH_KILLS=20 runs it with twenty kills; CI takes one, since each costs a start of TensorFlow.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.entrypoints.simulated import SimulatedJob
from tests.places import ENTRYPOINTS
from tests.waiting import until

pytestmark = [pytest.mark.horovod, pytest.mark.storm, pytest.mark.timeout(0)]

MakeJob = Callable[..., SimulatedJob]
SECONDS = 240.0  # of a wait, each of which has an end
KILLS = int(os.environ.get("LAUNCH_KILLS", "1"))
STEPS_AN_EPOCH = 23
EPOCHS = max(6, 2 * KILLS)  # so many that a busy machine kills in time
NAME = re.compile(r"checkpoint-(\d+)(?:-step-(\d+))?\.npz")


def started(make_job: MakeJob, checkpoints: Path, model: Path) -> SimulatedJob:
    """Two hosts with an agent and a rank each, on the shared script."""
    job = make_job(
        **{"hosts": 2, "PYTHONPATH": "", "LAUNCH_JOIN_TIMEOUT": "240"},
        LAUNCH_CHECKPOINT_DIR=str(checkpoints),
        LAUNCH_MODEL_DIR=str(model),
        LAUNCH_SOURCE_DIR=str(ENTRYPOINTS),
    )
    arguments = ["--model", "mlp", "--epochs", str(EPOCHS), "--checkpoint-steps", "2"]
    job.start_all(*arguments, script="train_image_classifier.py")
    return job


def steps_in(folder: Path) -> int:
    """Steps that the newest checkpoint has."""
    found = [match for match in map(NAME.fullmatch, os.listdir(folder)) if match]
    done = [int(match[1]) * STEPS_AN_EPOCH + int(match[2] or 0) for match in found]
    return max(done, default=0)


def kill(job: SimulatedJob, victim: str) -> None:
    """SIGKILL to "rank 0", "agent 1", or to everything of the job."""
    kind, _, number = victim.partition(" ")
    if kind == "rank":
        pids = [job.guard(int(number))]
    elif kind == "agent":
        pids = [job.agents[int(number)].pid]
    else:
        pids = [*(agent.pid for agent in job.agents.values()), *job.processes_of_ranks()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def ended(make_job: MakeJob, folder: Path, name: str) -> tuple[dict[str, Any], list[Any]]:
    """metrics.json, and the arrays of the last checkpoint, of a run that comes to its end."""
    job = started(make_job, folder / name, folder / f"{name}-model")
    assert job.wait(SECONDS) == [0, 0], job.text()
    metrics = json.loads((folder / f"{name}-model" / "metrics.json").read_text())
    with np.load(folder / name / f"checkpoint-{EPOCHS:05d}.npz") as archive:
        arrays = [archive[each] for each in sorted(archive.files) if each != "about"]
    return metrics, arrays


def test_killed_at_random_moments_a_training_ends_with_the_steps_and_the_loss_of_another(
    make_job: MakeJob, tmp_path: Path
) -> None:
    undisturbed, expected = ended(make_job, tmp_path, "undisturbed")
    checkpoints = tmp_path / "killed"
    checkpoints.mkdir()
    drawn = random.Random(16)
    steps = EPOCHS * STEPS_AN_EPOCH
    for number in range(KILLS):
        victim = ("rank 0", "agent 1", "rank 1", "all", "agent 0")[number % 5]
        before = steps_in(checkpoints)
        left = (steps - before) // (KILLS - number + 1)
        target = before + drawn.randint(1, max(1, left))
        target = target if number else max(target, STEPS_AN_EPOCH + 1)
        job = started(make_job, checkpoints, tmp_path / "killed-model")
        until(lambda enough=target: steps_in(checkpoints) >= enough, f"step {target}", SECONDS)
        kill(job, victim)
        codes = job.wait(SECONDS)
        assert 0 not in codes, (victim, job.text())
        until(lambda dead=job: not dead.processes_of_ranks(), "the ranks' end", SECONDS)
        assert before < steps_in(checkpoints) < steps, (victim, job.text())
        print(f"{victim} killed after step {steps_in(checkpoints)}")

    metrics, arrays = ended(make_job, tmp_path, "killed")
    names = ("epoch", "loss", "accuracy")
    first, same = metrics["history"][0], undisturbed["history"][0]  # before the first kill
    assert [first[name] for name in names] == [same[name] for name in names]
    assert metrics["steps"] == undisturbed["steps"] == steps
    assert metrics["epochs"] == EPOCHS
    furthest = max(float(np.max(np.abs(a - b))) for a, b in zip(arrays, expected, strict=True))
    print(
        f"loss {metrics['test_loss']!r} and {undisturbed['test_loss']!r} undisturbed; "
        f"no number of the last checkpoint is further away than {furthest:g}"
    )
    assert metrics["test_loss"] == pytest.approx(undisturbed["test_loss"], rel=1e-3)
    assert [path.name for path in checkpoints.iterdir() if path.suffix != ".npz"] == []

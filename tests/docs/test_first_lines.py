"""The first lines that a reader types, with real ranks: `launch init` then `launch local`, and the
README's own."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.cli.command import Answer, Launch
from tests.docs.blocks import blocks
from tests.entrypoints.strategies.torch_ranks import PYTHON, need_torch
from tests.local.test_strategy import GOOD

HOROVOD = """
import argparse
import horovod.tensorflow as hvd
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
epochs = parser.parse_args().epochs
hvd.init()
weight = tf.Variable([4.0 + hvd.rank()])
hvd.broadcast_variables([weight], root_rank=0)
for _ in range(epochs):
    with tf.GradientTape() as tape:
        loss = weight * weight * (hvd.rank() + 1)
    gradients = hvd.DistributedGradientTape(tape).gradient(loss, [weight])
    weight.assign_sub(0.1 * gradients[0])
print("epochs", epochs)
"""


def lines(beginning: str) -> list[str]:
    """The README's command lines that begin so, in their order."""
    readme = [one for one in blocks() if one.place.startswith("README.md:")]
    return [line for one in readme for line in one.commands() if line.startswith(beginning)]


def proven(answer: Answer, proof: str) -> None:
    assert answer.code == 0, answer.out + answer.err
    assert f"launch: proof: {proof}; gradients exchanged, weights equal" in answer.out


@pytest.mark.horovod
def test_the_readmes_first_job_is_proven_as_the_readme_shows(launch: Launch) -> None:
    launch.write("train.py", HOROVOD)
    program, *words = shlex.split(lines("launch local train.py")[0])

    answer = launch(*words)

    assert program == "launch"
    proven(answer, "world size 4: 2 hosts x 2 ranks, Gloo")
    assert re.search(r"^\[host-1/0\] epochs 3$", answer.out, re.MULTILINE)
    # The lines of the plan that the README shows, without what each machine has otherwise.
    for row in ("ranks        2 hosts x 2 ranks = world size 4", "arguments    --epochs 3"):
        assert row in answer.err


@pytest.mark.horovod
def test_what_init_writes_trains_by_the_line_that_it_names(launch: Launch) -> None:
    wrote = launch("init", "digits")
    next_line = re.search(r"^next: cd digits && (launch .*)$", wrote.err, re.MULTILINE)
    assert next_line, wrote.err

    answer = Launch(launch.home, launch.folder / "digits")(*shlex.split(next_line[1])[1:])

    proven(answer, "world size 2: 2 hosts x 1 rank, Gloo")


@pytest.mark.horovod
def test_the_readmes_job_of_torch_is_recognised_and_proven(launch: Launch) -> None:
    need_torch()
    launch.write("ddp.py", GOOD)
    (line,) = lines("launch local ddp.py")
    words = [str(PYTHON) if "torch/bin" in word else word for word in shlex.split(line)]

    proven(launch(*words[1:]), "world size 4: 2 hosts x 2 ranks, Gloo")


@pytest.mark.horovod
def test_what_init_writes_for_torch_trains(launch: Launch) -> None:
    need_torch()
    assert launch("init", "--strategy", "torch").code == 0

    answer = launch("local", "--instances", "2", "--python", str(PYTHON))

    proven(answer, "world size 2: 2 hosts x 1 rank, Gloo")

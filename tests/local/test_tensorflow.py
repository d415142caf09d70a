"""Jobs of TensorFlow's own strategies on this machine: real workers, gRPC on the loopback."""

from __future__ import annotations

import pytest

from tests.cli.command import Launch
from tests.entrypoints.strategies import tensorflow_scripts as scripts

pytestmark = pytest.mark.horovod  # of the training stack

TWO = ("--instances", "2")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
PROOF = "launch: proof: world size 2: 2 hosts x 1 replica, gRPC; gradients exchanged, weights equal"


def test_fit_on_two_hosts_is_seen_in_the_source_started_under_keras_2_and_proven(launch: Launch):
    launch.write("train.py", scripts.HOSTS + scripts.FIT)
    answer = launch("local", "train.py", *TWO, "--keras", "2", TF_CONFIG="{}", **QUIET)
    assert answer.code == 0, answer.out + answer.err
    assert PROOF in answer.out
    assert "2 hosts x 1 process x 1 replica = world size 2" in answer.err
    assert "calls tensorflow.distribute.MultiWorkerMirroredStrategy" in answer.err
    assert "Horovod" not in answer.out + answer.err


def test_fit_of_keras_3_on_two_hosts_is_refused_before_anything_starts(launch: Launch):
    launch.write("train.py", scripts.HOSTS + scripts.FIT)
    answer = launch("local", "train.py", *TWO)
    assert answer.code == 2
    assert "keras-3-fit" in answer.err
    assert "--keras 2" in answer.err

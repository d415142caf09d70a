"""What the tests share that go from the command line to ranks in containers, on every cloud."""

from __future__ import annotations

import pytest

from launchers.docker.engine import engine
from launchers.image.names import GPU_LABEL, REPOSITORY
from tests.keras_2 import KERAS_2

# Rank 1 fails in the middle of a step that the others are in.
BROKEN = (
    KERAS_2
    + """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
hvd.allreduce(tf.constant([0.0]), name="step")
steps = {"train": 1}
if hvd.rank() == 1:
    print("steps", steps["validate"])
hvd.allreduce(tf.constant([0.0]), name="next")
"""
)


def our_image() -> str:
    """Our image on this machine, with AWS's toolkit and Horovod."""
    client = engine()
    try:
        found = client.images.list(name=REPOSITORY, filters={"label": f"{GPU_LABEL}=0"})
    finally:
        client.close()
    tags = [tag for one in found for tag in one.tags if tag.startswith(f"{REPOSITORY}:")]
    if not tags:
        pytest.fail("our image is not on this machine: run `launch image build`")
    return str(tags[0])


def by_tag(text: str) -> dict[str, list[str]]:
    """A log's lines in their order, those of each tag apart: lines of two hosts may change places
    where one host's come late."""
    lines: dict[str, list[str]] = {}
    for line in text.splitlines():
        lines.setdefault(line.partition("] ")[0], []).append(line)
    return lines

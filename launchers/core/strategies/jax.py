"""JAX's processes, joined by jax.distributed.initialize(): one a GPU, or one a host that has all.

Source: jax.distributed.initialize and "Introduction to multi-controller JAX"
(docs.jax.dev/en/latest/multi_process.html); which variables it reads: jax/_src/distributed.py and
jax/_src/clusters of 0.10.2.
"""

from __future__ import annotations

from launchers.core.model.image_needs import ImageNeeds, Part
from launchers.core.strategies.strategy import Strategy, Use

_TAKE_OUT = "Horovod has no binding for JAX: leave --strategy to be read from the source, or jax"

# What `launch image check` asks of an image; it has no network there but its own loopback.
_LOOK = """\
import jax, jaxlib
print("ANSWER jax", jax.__version__, "with jaxlib", jaxlib.__version__)
"""
_JOIN = """\
import os, socket
with socket.socket() as held:
    held.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % held.getsockname()[1]
child = os.fork()
rank = 0 if child else 1
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
jax.distributed.initialize(address, 2, rank, initialization_timeout=60)
from jax.experimental import multihost_utils
import numpy as np
total = multihost_utils.process_allgather(np.array([1.0 + rank])).sum()
assert (jax.process_count(), total) == (2, 3.0), (jax.process_count(), total)
jax.distributed.shutdown()
if child and os.waitpid(child, 0)[1] == 0:
    print("ANSWER ranks world size 2")
"""
_IMAGE = ImageNeeds(
    packages=("jax",),
    parts=(
        Part("jax", "JAX", "pip install jax, or jax[cuda12] for GPUs"),
        Part("ranks", "two processes find each other on the CPU", "see what they say in the image"),
    ),
    programs={"jax": _LOOK, "ranks": _JOIN},
)

STRATEGY = Strategy(
    name="jax",
    title="JAX",
    joining="jax.distributed.initialize()",
    bring_in="Or join them by jax.distributed.initialize() and shard over a Mesh of jax.devices()",
    uses=(
        Use(
            "jax.distributed",
            (r"jax\.distributed",),
            (r"(?:.*\.)?jax\.(?:_src\.)?distributed\.initialize",),
            _TAKE_OUT,
        ),
        # Of one process these are its own devices, of a job all: what joins is the call above.
        Use(
            "jax.pmap",
            (r"jax\.pmap", r"jax\.experimental\.(?:multihost_utils|pjit|mesh_utils)"),
            instead=_TAKE_OUT,
        ),
    ),
    words=r"\bdistributed\b",
    library="JAX",
    package="jax",
    install="install it there: pip install jax",
    # By the first a script's own initialize() finds the others too; JAX itself reads no more.
    reserved=("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"),
    image=_IMAGE,
    local_rank=r"(?:local_rank|process_index|local_device_ids)",
    picks_device=r"local_device_ids|CUDA_VISIBLE_DEVICES|jax_cuda_visible_devices",
)

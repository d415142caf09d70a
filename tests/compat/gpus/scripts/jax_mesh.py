"""JAX: a jitted step over a mesh of all processes' GPUs, the batch divided over it."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.distributed.initialize()
os.environ["NCCL_HOSTID"] = str(jax.process_index())  # as one_gpu.py

mesh = Mesh(np.array(jax.devices()), ("data",))
rows = NamedSharding(mesh, PartitionSpec("data"))
whole = NamedSharding(mesh, PartitionSpec())
draw = np.random.default_rng(jax.process_index())
points = draw.normal(size=(64, 512)).astype("float32")
points = jax.make_array_from_process_local_data(rows, points)
weights = jax.device_put(jnp.zeros(512), whole)


@jax.jit
def step(weights, points):
    def loss(w):
        return jnp.mean((points @ w - points.sum(axis=1)) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return weights - 0.001 * gradient, value


for _ in range(20):
    weights, value = step(weights, points)
print(f"process {jax.process_index()} of {jax.process_count()}: loss {float(value):.4f}")

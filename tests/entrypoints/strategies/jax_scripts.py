"""Scripts for processes of JAX; data made on the spot, another in each process."""

from __future__ import annotations

# What the tests run, from the package index.
PACKAGES = ("jax==0.10.2",)

START = """
import os, time
import jax
jax.distributed.initialize()
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
rank = jax.process_index()
"""
TRAIN = (
    START
    + """
mesh = Mesh(np.array(jax.devices()), ("data",))
own = np.full((8, 100), rank + 1, np.float32)
batch = jax.make_array_from_process_local_data(NamedSharding(mesh, P("data")), own)
weights = jax.device_put(jnp.zeros((100, 10)), NamedSharding(mesh, P()))

@jax.jit
def step(weights, batch):
    gradient = jax.grad(lambda weights: jnp.mean((batch @ weights - 1) ** 2))(weights)
    return weights - 0.1 * gradient

for _ in range(3):
    weights = step(weights, batch)
total = float(jnp.sum(weights.addressable_data(0)))
print("trained", rank, "of", jax.process_count(), "to", round(total, 2))
"""
)
ALONE = "print('doubled', float(jax.jit(lambda x: 2 * x)(jnp.ones(3)).sum()))\n"

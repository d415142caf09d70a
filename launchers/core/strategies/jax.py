"""JAX's own processes and devices. Horovod has no binding for JAX."""

from __future__ import annotations

from launchers.core.strategies import Strategy

STRATEGIES = [
    Strategy("jax.distributed", (r"jax\.distributed",)),
    Strategy(
        "jax.pmap",
        (r"jax\.pmap", r"jax\.experimental\.(?:multihost_utils|pjit|mesh_utils)"),
    ),
]

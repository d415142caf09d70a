"""The GPUs that this process trains on, by names that all ranks of a machine share.

Two ranks that use one GPU leave the others idle, and nothing says so. What a framework holds on a
GPU shows where it trains; JAX is not asked, which takes nearly all of a GPU at its start, so that a
second rank there fails by itself.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from typing import Any, Mapping

from launch_runtime.rank import gpu_pinning

# A tensor that strayed to another GPU (``torch.load`` puts it where it was saved) is no training.
_SHARE_OF_FULLEST = 0.1


def in_use(environment: Mapping[str, str]) -> list[str]:
    """Names of the GPUs that hold what this process trains: their UUIDs, where they are known.

    Empty where it has used none, or shares GPUs by its user's wish (``--pin-gpu none``). Imports no
    framework and starts none.
    """
    if environment.get("LAUNCH_PIN_GPU") == "none":
        return []
    held: dict[str, int] = {}
    for framework, look in (("torch", _of_torch), ("tensorflow", _of_tensorflow)):
        module = sys.modules.get(framework)
        # A GPU that does not answer any more must not take the rest of the evidence with it.
        with contextlib.suppress(Exception):
            held.update(look(module, environment) if module else {})
    fullest = max(held.values(), default=0)
    return sorted(name for name, size in held.items() if size > fullest * _SHARE_OF_FULLEST)


def _of_torch(torch: Any, environment: Mapping[str, str]) -> dict[str, int]:
    """GPU's name -> the most bytes that tensors took there."""
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return {}
    held = {}
    for index in range(torch.cuda.device_count()):
        name = _named(index, environment)
        # Since PyTorch 2.4; of a slice of a GPU (MIG) it may be that of the whole.
        uuid = getattr(torch.cuda.get_device_properties(index), "uuid", None)
        if uuid and ":MIG-" not in name:
            name = f"GPU-{uuid}"
        held[name] = torch.cuda.max_memory_allocated(index)
    return held


def _of_tensorflow(tensorflow: Any, environment: Mapping[str, str]) -> dict[str, int]:
    eager = sys.modules.get("tensorflow.python.eager.context")
    context = getattr(eager, "_context", None)
    # A question would start what the script has not.
    if context is None or not getattr(context, "_initialized", False):
        return {}
    held = {}
    for index, device in enumerate(tensorflow.config.get_visible_devices("GPU")):
        memory = tensorflow.config.experimental.get_memory_info(f"GPU:{index}")
        physical = int(device.name.rpartition(":")[2])
        held[_named(physical, environment)] = memory["peak"]
    return held


def _named(index: int, environment: Mapping[str, str]) -> str:
    """The name of a GPU by its place among those that CUDA shows to this process."""
    shown = gpu_pinning.devices(environment.get(gpu_pinning.VARIABLE, ""))
    return f"{socket.gethostname()}:{shown[index] if index < len(shown) else index}"

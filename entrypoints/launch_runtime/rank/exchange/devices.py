"""The GPUs that this process trains on, by names that all ranks of a machine share.

Two ranks that use one GPU leave the others idle, and nothing says so. What a framework holds on a
GPU shows where it trains; JAX is not asked, which takes nearly all of a GPU at its start, so that a
second rank there fails by itself.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from typing import Any, Mapping, NamedTuple

from launch_runtime.rank import gpu_pinning

# A tensor that strayed to another GPU (``torch.load`` puts it where it was saved) is no training.
_SHARE_OF_FULLEST = 0.1


class Use(NamedTuple):
    """Where a process trains.

    Attributes:
        names: Of the GPUs that hold what it trains: their UUIDs, where they are known. Empty where
            it shares GPUs by its user's wish (``--pin-gpu none``).
        idle: Why it uses none, though it has one; "" where it does, has none, or nobody knows.
        is_some: Whether it uses any.
    """

    names: list[str]
    idle: str
    is_some: bool = False


def look(environment: Mapping[str, str]) -> Use:
    """Where this process trains by now. Imports no framework and starts none."""
    held: dict[str, int] = {}
    reasons: list[str | None] = []  # of each framework that is there; None where it does not say
    for framework, of, why in (
        ("torch", _of_torch, _why_not_torch),
        ("tensorflow", _of_tensorflow, _why_not_tensorflow),
    ):
        module = sys.modules.get(framework)
        if module is None:
            continue
        reason = None
        # A GPU that does not answer any more must not take the rest of the evidence with it.
        with contextlib.suppress(Exception):
            found = of(module, environment)
            held.update(found or {})
            reason = why(module) if found is not None else None
        reasons.append(reason)
    fullest = max(held.values(), default=0)
    known = [reason for reason in reasons if reason]
    is_idle = bool(known) and len(known) == len(reasons) and not fullest
    idle = " and ".join(known) if is_idle and gpu_pinning.rank_sees_devices() else ""
    if environment.get("LAUNCH_PIN_GPU") == "none":
        return Use([], idle, bool(fullest))
    names = [name for name, size in held.items() if size > fullest * _SHARE_OF_FULLEST]
    return Use(sorted(names), idle, bool(fullest))


def _of_torch(torch: Any, environment: Mapping[str, str]) -> dict[str, int]:
    """GPU's name -> the most bytes that tensors took there."""
    # In this order: whether CUDA is available is asked of the driver, which that starts.
    if not (torch.cuda.is_initialized() and torch.cuda.is_available()):
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


def _why_not_torch(torch: Any) -> str:
    if getattr(torch.version, "cuda", None) is None and getattr(torch.version, "hip", None) is None:
        return "this PyTorch is built without CUDA"
    return (
        "PyTorch has not used CUDA: torch.cuda.is_available() is False, or the model was never "
        "moved to the GPU"
    )


def _of_tensorflow(tensorflow: Any, environment: Mapping[str, str]) -> dict[str, int] | None:
    """The same of TensorFlow; None where its graphs may use any, in a session of their own."""
    eager = sys.modules.get("tensorflow.python.eager.context")
    context = getattr(eager, "_context", None)
    # A question would start what the script has not.
    if context is None or not getattr(context, "_initialized", False):
        return None
    held = {}
    for index, device in enumerate(tensorflow.config.get_visible_devices("GPU")):
        memory = tensorflow.config.experimental.get_memory_info(f"GPU:{index}")
        physical = int(device.name.rpartition(":")[2])
        held[_named(physical, environment)] = memory["peak"]
    return held


def _why_not_tensorflow(tensorflow: Any) -> str:
    if not tensorflow.test.is_built_with_cuda():
        return "this TensorFlow is built without CUDA"
    if not tensorflow.config.list_physical_devices("GPU"):
        return (
            "TensorFlow finds no GPU: CUDA's libraries are missing, or are not the versions that "
            "it was built for"
        )
    return "TensorFlow has put nothing on it, or the script hides it (set_visible_devices)"


def _named(index: int, environment: Mapping[str, str]) -> str:
    """The name of a GPU by its place among those that CUDA shows to this process."""
    shown = gpu_pinning.devices(environment.get(gpu_pinning.VARIABLE, ""))
    return f"{socket.gethostname()}:{shown[index] if index < len(shown) else index}"

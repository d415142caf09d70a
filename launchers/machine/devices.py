"""The GPUs that this machine shows, divided among simulated hosts."""

from __future__ import annotations

import os
from pathlib import Path


def visible_gpus() -> list[str]:
    """The entries of CUDA_VISIBLE_DEVICES where it is set, else one index a GPU of the driver.

    Reads files only; the driver lists its GPUs under /proc/driver/nvidia/gpus, and a container
    may show /dev/nvidia0 and so on alone.
    """
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        entries = [entry.strip() for entry in named.split(",") if entry.strip()]
        # CUDA stops at the first entry that is no device; -1 is the usual way to say "none".
        return entries[: entries.index("-1")] if "-1" in entries else entries
    driver = Path("/proc/driver/nvidia/gpus")
    found = len(list(driver.iterdir())) if driver.is_dir() else 0
    found = found or len(list(Path("/dev").glob("nvidia[0-9]*")))
    return [str(index) for index in range(found)]


def share_of(devices: list[str], host: int, gpus: int) -> list[str]:
    """The ``gpus`` devices of simulated host number ``host`` (from 0)."""
    return devices[host * gpus : (host + 1) * gpus]

"""Hooks where PyTorch's optimizers step and Horovod's PyTorch binding exchanges tensors."""

from __future__ import annotations

from typing import Any

from launch_runtime.rank.exchange.collector import Collector
from launch_runtime.rank.import_hook import OnImport


def table(collector: Collector) -> dict[str, OnImport]:
    """Module -> what is to be done with it once it is there."""
    found: dict[str, Any] = {}
    return found

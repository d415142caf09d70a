"""Records of ranks, as ``entrypoints/launch_runtime/evidence`` documents them, and the lines
that carry them."""

from __future__ import annotations

import base64
import struct
from typing import Any

from launchers.core.model.jobs import LogLine
from launchers.core.shipped import runtime

NONCE = "0123456789abcdef" * 2


def record(
    groups: tuple[Any, ...] = ("all",), weight: float = 1.0, final: bool = True
) -> dict[str, Any]:
    """One process that trained a model of one variable.

    Args:
        groups: Over which its gradients went; none for a rank that trained by itself.
        weight: The variable's norm at the end.
        final: Whether the process ended in a way in which it could say so.
    """
    prints = base64.b64encode(struct.pack("<4f", weight, weight, weight, weight)).decode()
    weights = {"shapes": ["4"], "prints": prints, "kept": [0], "changed": [], "why": ""}
    trained = {
        "name": "Adam",
        "form": "84a0c1d2",
        "variables": 1,
        "elements": 4,
        "local": 0,
        "exchanged": 1 if groups else 0,
        "how": "gradients" if groups else "",
        "groups": list(groups),
        "phases": ["during"],
        "weights": weights if groups else None,
    }
    return {
        "pid": 7,
        "final": final,
        "joined": False,
        "called_after": 0,
        "other": [],
        "sets": [trained],
    }


def lines_of(records: list[Any], rank: int, stamp: str, serial: int = 1) -> list[LogLine]:
    """What the guard of a rank prints under mpirun."""
    texts: list[str] = runtime("evidence.lines").encode(records, rank, serial, stamp)
    return [LogLine(0.0, f"algo-{rank + 1}", rank, text) for text in texts]

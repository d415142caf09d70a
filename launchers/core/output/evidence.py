"""The judge of the ranks' evidence, ``entrypoints/launch_runtime/evidence.py``, on this side: the
same file as in the replica, loaded from where it is shipped."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from launchers.core.paths import entrypoints_folder


class Finding(NamedTuple):
    """What the evidence says.

    Attributes:
        words: For the proof line; ``gradients exchanged, weights equal``.
        failure: Why the job is no success, or "".
        fix: What to change where there is a failure.
        missing: Ranks that left no final record.
    """

    words: str
    failure: str
    fix: str
    missing: tuple[int, ...]


class Gathering(Protocol):
    """Joins the lines of evidence that ranks print under mpirun."""

    def feed(self, line: str) -> bool:
        """Take a line's text; whether it is evidence of this job."""

    def evidence(self) -> dict[int, list[Any]]:
        """Rank -> the records of its newest whole evidence."""


def gathering(stamp: str, world_size: int) -> Gathering:
    """An empty one.

    Args:
        stamp: The job's; "" where its document carries no nonce.
        world_size: Ranks of the job; 0 where that is not known.
    """
    module = _module()
    made: Gathering = module.Gathering(stamp, world_size) if world_size else module.Gathering(stamp)
    return made


def judge(evidence: Mapping[int, Sequence[Any]], world_size: int, mode: str) -> Finding:
    """Whether the ranks trained together. Pure."""
    return Finding(*_module().judge(evidence, world_size, mode))


@lru_cache(maxsize=1)
def _module() -> Any:
    file = entrypoints_folder() / "launch_runtime" / "evidence.py"
    spec = importlib.util.spec_from_file_location("launch_evidence", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""What runs in a replica is imported from its own folder, as there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.entrypoints import horovod_ranks
from tests.entrypoints.simulated import SimulatedJob, simulated_jobs
from tests.places import ENTRYPOINTS

if str(ENTRYPOINTS) not in sys.path:
    sys.path.insert(0, str(ENTRYPOINTS))


@pytest.fixture(scope="session")
def warm_ranks() -> Iterator[None]:
    """What ranks of ``horovod_ranks`` are forked from; started ahead of a test that uses it."""
    horovod_ranks.WARM.start(horovod_ranks.clean_environment())
    yield
    horovod_ranks.WARM.stop()


@pytest.fixture
def make_job(tmp_path: Path) -> Iterator[Callable[..., SimulatedJob]]:
    """Makes jobs of simulated hosts; whatever is left of them ends with the test."""
    yield from simulated_jobs(tmp_path)

"""One Spark cluster for a file's tests: starting its JVMs takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark import cluster as clusters


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    """Two workers of one core each, on loopback."""
    with clusters.running(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster

"""What the world size follows from is known by its places."""

from __future__ import annotations

from launchers.core.roles import SIZE
from launchers.sagemaker.rules.dependencies import DEPENDS_ON, FLAGS
from launchers.sagemaker.starts.ways import ways


def test_every_flag_that_starts_ranks_is_one_of_them():
    assert {f"$.HyperParameters.{way.flag}" for way in ways().values()} == set(FLAGS)
    assert set(FLAGS) <= set(DEPENDS_ON[SIZE])

"""A request that is refused, and the rule that refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from launchers.core.model.problems import LaunchError


@contextmanager
def refused(rule: str, match: str = "") -> Iterator[pytest.ExceptionInfo[LaunchError]]:
    """The block raises a LaunchError with a problem of that rule.

    Args:
        match: A regular expression that the whole message holds.
    """
    with pytest.raises(LaunchError, match=match or None) as caught:
        yield caught
    assert rule in [problem.rule for problem in caught.value.problems]

"""How often a job is looked at."""

from __future__ import annotations

import pytest

from launchers.core.cloud.poll import POLL_VARIABLE, poll_seconds


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(None, 3.0), ("7", 7.0), ("0.5", 0.5), ("0", 0.05), ("-1", 0.05), ("soon", 3.0), ("", 3.0)],
)
def test_three_seconds_unless_the_variable_says_otherwise(monkeypatch, given, seconds):
    monkeypatch.delenv(POLL_VARIABLE, raising=False)
    if given is not None:
        monkeypatch.setenv(POLL_VARIABLE, given)
    assert poll_seconds() == seconds

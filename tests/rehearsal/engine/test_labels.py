"""What a rehearsal's containers say of themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launchers.rehearsal.engine.labels import STARTED, Labels


def test_labels_are_read_as_they_were_written() -> None:
    labels = replace(Labels.new("train-3f2a9c1e-1"), started=1_764_000_000.125)
    assert Labels.read(labels.values()) == labels
    assert labels.is_here


@pytest.mark.parametrize("values", [{}, {STARTED: "yesterday"}])
def test_what_is_missing_or_no_number_is_empty(values: dict[str, str]) -> None:
    assert Labels.read(values) == Labels("", "", "", "", 0.0)

"""Which of the ledger's jobs a list asks for, as the database understands it."""

from __future__ import annotations

import sqlite3

import pytest

from launchers.core.records.entry import INTENT
from launchers.core.records.ledger_file import UNFINISHED
from launchers.core.records.wanted import Wanted

ROWS = [
    ("local", "succeeded", 100.0),
    ("vertex", "failed", 200.0),
    ("vertex", "running", 300.0),
    ("sagemaker", INTENT, 50.0),
]


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        (Wanted(), [0, 1, 2, 3]),
        (Wanted(provider="vertex"), [1, 2]),
        (Wanted(since=150.0), [1, 2]),
        (Wanted(since=200.0), [1, 2]),
        # Of those that had not ended when they were written down nobody knows.
        (Wanted(state="failed"), [1, 2, 3]),
        (Wanted(state="succeeded", provider="local"), [0]),
        (Wanted(state="succeeded", provider="local", since=101.0), []),
        (Wanted(provider="x' OR '1'='1"), []),
    ],
)
def test_a_filter_lets_its_jobs_pass(wanted, places):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE jobs (provider, state, created)")
    database.executemany("INSERT INTO jobs VALUES (?, ?, ?)", ROWS)
    condition, values = wanted.condition
    found = database.execute(f"SELECT rowid - 1 FROM jobs WHERE {condition}", values)
    assert [row[0] for row in found] == places
    assert "state" in UNFINISHED

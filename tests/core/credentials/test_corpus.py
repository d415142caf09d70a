"""What is found in the corpus of the benchmark: never fewer than before, and no innocent line."""

from __future__ import annotations

from collections import Counter

import pytest

from launchers.core.source.credential_files import places_in
from tests.benchmarks.credential_corpus.texts import Case, cases

# Cases of each group in which something must be found, of so many.
FOUND = {
    "gitleaks": (621, 641),
    "detect-secrets": (154, 390),
    "shapes": (128, 129),
    "contexts": (59, 60),
}


@pytest.fixture(scope="module")
def corpus() -> list[Case]:
    return list(cases())


def test_no_fewer_cases_are_found_than_before(corpus: list[Case]):
    found = Counter(case.group for case in corpus if places_in(case.name, case.text.encode()))
    counts = Counter(case.group for case in corpus)
    told = {group: (found[group], counts[group]) for group in counts if group != "innocents"}
    assert told == FOUND


def test_no_innocent_line_is_an_alarm(corpus: list[Case]):
    innocents = [case for case in corpus if case.group == "innocents"]
    alarms = [case.text for case in innocents if places_in(case.name, case.text.encode())]
    assert len(innocents) >= 135
    assert alarms == []

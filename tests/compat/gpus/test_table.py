"""The docs' table names the scripts that there are, with what came of each."""

from __future__ import annotations

import pytest

from launchers.core.analysis.strategy_choice import choose_strategy
from launchers.core.source.script import read_source
from launchers.core.spec.job import JobSpec
from tests.compat import page
from tests.compat.gpus import table
from tests.compat.gpus.cases import BENEATH, HERE, load
from tests.compat.strategies.runs import Found

CASES = {case.name: case for case in load()}


def test_every_script_stands_in_the_catalogue_and_the_other_way_round():
    lying = {path for path in HERE.glob("scripts/*.py") if path.name not in BENEATH}
    assert {case.file for case in CASES.values()} == lying


def test_the_docs_table_has_each_script_and_its_number_is_that_of_its_rows():
    rows = {row[0].strip("`"): row for row in table.rows_of()}
    text = page.DOCS.read_text()
    left_out = {name for name in CASES if f"* `{name}`: " in text}
    assert set(rows) | left_out == set(CASES)
    for name, row in rows.items():
        assert row[1:3] == [CASES[name].form, CASES[name].expect], name
    # What a row says is cut; whether it is the right reason was judged on the whole.
    right = sum(row[3] == CASES[name].expect for name, row in rows.items())
    assert f"As expected: {right} of {len(rows)}." in text


@pytest.mark.parametrize("name", [case.name for case in CASES.values() if not case.ours])
def test_the_source_says_by_what_a_script_trains(name):
    case = CASES[name]
    spec = JobSpec(script=str(case.file), instances=2, processes=1)
    found = choose_strategy(spec, read_source(spec), gpus=1)
    errors = [problem.rule for problem in found.problems if problem.severity == "error"]
    assert (found.name, errors) == (case.strategy, [])


def test_what_is_right_for_another_reason_is_not_as_expected():
    case = CASES["bad_one_gpu"]
    assert case.as_expected(Found("refused", "ranks 0, 1 trained on one GPU, GPU-1, where", 1))
    assert not case.as_expected(Found("refused", "2 ranks trained apart", 1))
    assert not case.as_expected(Found("failed", "ranks 0, 1 trained on one GPU, GPU-1, where", 1))

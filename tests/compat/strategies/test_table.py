"""The docs' table names the scripts that there are, with what must come of each, and adds up."""

from __future__ import annotations

import pytest

from launchers.core.analysis.strategy_choice import choose_strategy
from launchers.core.source.script import read_source
from launchers.core.spec.job import JobSpec
from tests.compat import page
from tests.compat.jobs import Outcome
from tests.compat.strategies import table
from tests.compat.strategies.cases import HERE, load
from tests.compat.strategies.runs import Found, found_of

# Bad ones whose source certainly trains apart: nothing is started.
REFUSED_BEFORE = {
    "bad_data_parallel": "strategy-other",
    "bad_no_strategy": "strategy-none",
    "bad_mirrored_on_two_hosts": "strategy-one-host",
}
CASES = {case.name: case for case in load().cases}


def test_every_script_stands_in_the_catalogue_and_the_other_way_round():
    lying = {path for path in HERE.glob("scripts_*/*.py") if path.name != "toy.py"}
    assert {case.file for case in CASES.values() if not case.ours} == lying


def test_the_docs_table_has_each_script_with_what_must_come_of_it():
    rows = {row[0].strip("`"): row for row in table.rows_of()}
    text = page.DOCS.read_text()
    left_out = {name for name in CASES if f"* `{name}`: " in text}
    assert set(rows) | left_out == set(CASES)
    for name, row in rows.items():
        case = CASES[name]
        expected = [case.strategy, f"2 x {case.processes}", case.form, case.expect]
        assert row[1:5] == expected, name


def test_the_docs_numbers_are_those_of_its_rows():
    ran = [(CASES[row[0].strip("`")], Found(row[5], row[6], 0)) for row in table.rows_of()]
    assert table.counts(ran) in page.DOCS.read_text()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_source_says_by_what_a_script_trains(case):
    """Without `--strategy`: Accelerate, Lightning and the Trainer join ranks in their own words."""
    environment = {**dict(case.environment), "TF_USE_LEGACY_KERAS": "1"}
    spec = JobSpec(script=str(case.file), instances=2, processes=1, environment=environment)
    found = choose_strategy(spec, read_source(spec), gpus=0)
    errors = [problem.rule for problem in found.problems if problem.severity == "error"]
    if case.name in REFUSED_BEFORE:
        assert errors == [REFUSED_BEFORE[case.name]]
    else:
        assert (found.name, errors) == (case.strategy, [])


def test_a_catalogue_with_an_unknown_expectation_is_refused(tmp_path):
    path = tmp_path / "scripts.yaml"
    path.write_text("stacks: {torch: {}}\ncases: [{name: x, form: y, expect: fine}]\nnot_run: []")
    with pytest.raises(ValueError, match="x: fine"):
        load(path)


@pytest.mark.parametrize(
    ("state", "words", "found"),
    [
        ("succeeded", "world size 2: 2 hosts x 1 rank, Gloo", "succeeded"),
        ("failed", "2 ranks trained apart: no gradient went through DDP", "refused"),
        ("failed", "ranks 0 and 1 trained on one GPU, GPU-1, where", "refused"),
        ("failed", "ncclInvalidUsage: Duplicate GPU detected: rank 0 and rank 1", "failed"),
        ("failed", "ModuleNotFoundError: No module named 'torch'", "failed"),
        ("exit 1", "2 ranks trained apart", "exit 1"),
    ],
)
def test_only_a_failure_for_training_apart_is_a_refusal(state, words, found):
    assert found_of(Outcome(state, words, 1.0, "")).state == found


def test_the_page_gets_a_new_table_and_keeps_the_rest(tmp_path):
    where = tmp_path / "page.md"
    where.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    case = CASES["ddp_basic"]
    table.write(table.text({case: Found("succeeded", "a | b", 1)}, ["torch 2"], []), where)
    text = where.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert table.rows_of(where) == [
        ["`ddp_basic`", "torch", "2 x 1", case.form, "succeeded", "succeeded", "a / b"]
    ]

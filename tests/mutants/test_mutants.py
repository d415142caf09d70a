"""The faults that `make mutants` puts in, and how it tells whether a test noticed."""

from __future__ import annotations

import threading

import pytest

from tests.mutants.generate import Mutant, mutant_at, places_of
from tests.mutants.subjects import SUBJECTS
from tests.mutants.trial import KILLED, SURVIVED, Stopped, Trial, UnhealthyError
from tests.places import ROOT
from tests.waiting import processes_with, until

_CODE = """
def above(found: int | None, shown: str) -> bool:
    print(shown[:40])
    return found is not None and found > 3
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "subject.py").write_text(_CODE)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n" + "".join(f"  {m}\n" for m in ("docker", "horovod", "storm"))
    )
    return tmp_path


def _mutants(tree):
    found = [mutant_at(tree, place) for place in places_of(tree, "subject.py")]
    return [mutant for mutant in found if mutant is not None]


def test_a_mutant_changes_what_the_code_does_and_neither_types_nor_where_a_text_is_cut(tree):
    sources = [mutant.source for mutant in _mutants(tree)]

    assert len(sources) == len(set(sources)) >= 6
    assert all("int | None" in source and "[:40]" in source for source in sources)
    assert any("found >= 3" in source for source in sources)
    assert any("or found > 3" in source for source in sources)


@pytest.mark.processes
@pytest.mark.parametrize(("asserted", "expected"), [("not above(3, '')", KILLED), ("1", SURVIVED)])
def test_a_mutant_is_killed_by_a_test_that_fails_with_it_and_leaves_the_file_as_it_was(
    tree, asserted, expected
):
    (tree / "test_it.py").write_text(
        f"from subject import above\n\ndef test_it():\n    assert {asserted}\n"
    )
    fault = Mutant("subject.py", "", 0, _CODE.replace("> 3", ">= 3"))

    assert Trial(tree).outcome(fault, ["test_it.py"]) == expected
    assert (tree / "subject.py").read_text() == _CODE


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("    print(shown[:40])", "    print(shown[:41])", {3}),
        ("found > 3", "found >= 3", {4}),
        ("def above(", "def below(", {2}),
    ],
    ids=["a statement", "a part of one", "the head of a function"],
)
def test_a_mutants_lines_are_those_of_the_statement_that_it_changes(tree, before, after, lines):
    mutant = Mutant("subject.py", "", 0, _CODE.replace(before, after))
    assert mutant.lines(tree) == lines


@pytest.mark.processes
def test_the_tests_that_reach_a_line_are_named_and_run_first(tree):
    (tree / "test_it.py").write_text(
        "import subject\n\n"
        "def test_one():\n    assert not subject.above(3, '')\n\n"
        "def test_other():\n    pass\n"
    )
    fault = Mutant("subject.py", "", 0, _CODE.replace("> 3", ">= 3"))

    trial = Trial(tree)
    lines = trial.reached(["subject.py"], ["test_it.py"]).lines["subject.py"]
    assert lines[3] == lines[4] == ["test_it.py::test_one"]
    assert trial.outcome(fault, [], lines[4]) == KILLED
    # With the mutant a test may have another name; then all of them are asked.
    assert trial.outcome(fault, ["test_it.py"], ["test_it.py::test_gone"]) == KILLED
    (tree / "test_it.py").write_text("def test_one():\n    assert False, 'as it says'\n")
    with pytest.raises(UnhealthyError, match="as it says"):
        trial.reached(["subject.py"], ["test_it.py"])


@pytest.mark.processes
def test_what_a_mutant_started_ends_with_the_trial_though_it_left_pytests_group(tree):
    (tree / "test_it.py").write_text(
        "import subprocess\n\n"
        "def test_it():\n"
        "    subprocess.run(['sleep', '3471'], start_new_session=True)\n"
    )
    trial, ended = Trial(tree), []

    def run():
        with pytest.raises(Stopped):
            trial.outcome(Mutant("subject.py", "", 0, _CODE), ["test_it.py"])
        ended.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: processes_with("sleep 3471"))
    trial.end()
    thread.join(60)
    assert ended == [True]
    assert processes_with("sleep 3471") == {}
    with pytest.raises(Stopped):
        trial.reached([], [])


def test_there_are_at_least_300_places_and_every_named_file_exists():
    modules = [path for subject in SUBJECTS for path in subject.modules]
    tests = [path for subject in SUBJECTS for path in subject.tests]

    assert [path for path in [*modules, *tests] if not (ROOT / path).exists()] == []
    assert sum(len(list(places_of(ROOT, path))) for path in modules[:6]) >= 300

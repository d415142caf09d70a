"""What is said of a script's source before several ranks run it."""

from __future__ import annotations

import sys

import pytest

from launchers.core.analysis.facts import facts_in
from launchers.core.analysis.strategy_reader import Reading, read
from launchers.core.source.texts import SourceTexts
from launchers.core.strategies import named
from tests.core.analysis.joining_sources import OTHERS, SEVERAL, WEAK
from tests.core.analysis.strategy_sources import (
    BAD,
    GOOD,
    HVD,
    NEWER,
    NOTEBOOK,
    OPEN,
    TF,
    Tree,
)


def judge(
    tree: Tree,
    script: str = "train.py",
    world_size: int = 2,
    asked: str | None = None,
    said: tuple[str, ...] = (),
    absent: frozenset[str] = frozenset(),
    started: str | None = None,
) -> Reading:
    files = {script: tree} if isinstance(tree, str) else tree
    contents = {
        path: text.encode() if isinstance(text, str) else text for path, text in files.items()
    }
    facts = facts_in(SourceTexts(contents=contents), script)
    assert facts is not None
    return read(facts, world_size, asked, said, absent, started=started)


@pytest.mark.parametrize("name", GOOD)
def test_a_script_that_uses_horovod_passes_without_a_word(name: str):
    tree = GOOD[name]
    script = "train.py" if isinstance(tree, str) or "train.py" in tree else "jobs/train.py"
    found = judge(tree, script)
    assert found.problems == ()
    assert [row.text for row in found.rows] == ["horovod"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_script_that_joins_in_another_way_is_started_in_that_way(name: str):
    tree, strategy, word = OTHERS[name]
    found = judge(tree)
    assert found.problems == ()
    assert (found.strategy, found.rows[0].text) == (strategy, strategy)
    assert word in found.rows[0].origin


@pytest.mark.parametrize("name", WEAK)
def test_a_library_that_is_not_seen_to_join_is_a_warning(name: str):
    tree, word = WEAK[name]
    found = judge(tree)
    (problem,) = found.problems
    assert found.strategy == ("jax" if word.startswith("jax") else "torch")
    assert (problem.severity, problem.rule) == ("warning", "strategy-unseen")
    assert word in problem.found
    assert named(found.strategy).joining in problem.found
    assert judge(tree, asked="torch").problems == ()


@pytest.mark.parametrize("name", SEVERAL)
def test_two_ways_to_join_are_asked_about(name: str):
    (problem,) = judge(SEVERAL[name]).problems
    assert (problem.severity, problem.rule) == ("error", "strategy-several")
    assert "--strategy horovod or --strategy torch" in problem.fix
    for word in ("horovod", "torch"):
        found = judge(SEVERAL[name], asked=word)
        assert (found.strategy, found.problems) == (word, ())


def test_a_script_that_reads_the_launchers_choice_goes_by_either_and_by_the_frameworks_own_first():
    text = str(SEVERAL["a backend to choose"])
    told = text + 'import os\nby = os.environ["LAUNCH_STRATEGY"]\n'
    found = judge(told)
    assert (found.strategy, found.problems) == ("torch", ())
    assert "train.py reads LAUNCH_STRATEGY, so --strategy horovod goes as well" in str(found.rows)
    assert judge(told, asked="horovod").problems == ()
    assert judge(text + "# LAUNCH_STRATEGY\n").problems[0].rule == "strategy-several"
    mirrored = "import tensorflow as tf, os\ntf.distribute.MirroredStrategy()\nimport my_horovod\n"
    assert judge(mirrored).strategy == "horovod"
    assert judge(mirrored + "os.environ['LAUNCH_STRATEGY']\n").strategy == "tensorflow"


def test_an_argument_that_is_the_name_chooses_between_two_ways():
    found = judge(SEVERAL["a backend to choose"], said=("--backend", "horovod"))
    assert (found.strategy, found.problems) == ("horovod", ())


def test_ranks_that_nothing_joins_are_refused_by_their_own_word():
    (problem,) = judge(HVD, asked="none").problems
    assert (problem.severity, problem.rule) == ("error", "strategy-alone")


@pytest.mark.parametrize("name", OTHERS)
def test_ranks_that_are_started_for_horovod_need_it(name: str):
    (problem,) = judge(OTHERS[name][0], started="horovod").problems
    assert (problem.severity, problem.rule) == ("error", "strategy-other")
    assert "no Horovod" in problem.found


def test_ranks_that_are_started_for_another_need_that_one():
    assert judge(SEVERAL["in two files"], started="torch").problems == ()
    for tree, rule in ((HVD, "strategy-other"), (TF, "strategy-none")):
        (problem,) = judge(tree, started="torch").problems
        assert (problem.rule, problem.expected) == (rule, "PyTorch at world size 2")


def test_the_plan_names_the_import():
    found = judge({"train.py": "import helper\n", "helper.py": "\n" + HVD})
    assert found.rows[0].origin == "helper.py:2 imports horovod.tensorflow.keras"


@pytest.mark.parametrize("name", [*GOOD])
def test_what_passes_passes_under_strategy_horovod_too(name: str):
    tree = GOOD[name]
    script = "train.py" if isinstance(tree, str) or "train.py" in tree else "jobs/train.py"
    assert judge(tree, script, asked="horovod").problems == ()


@pytest.mark.parametrize("name", BAD)
def test_a_source_that_cannot_train_together_is_refused(name: str):
    tree, rule, word = BAD[name]
    (problem,) = judge(tree).problems
    assert (problem.severity, problem.rule) == ("error", rule)
    assert word in str(problem)


@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if bad[1][:8] == "strategy"])
def test_the_users_word_passes_what_the_source_does_not_show(name: str):
    found = judge(BAD[name][0], asked="horovod")
    assert found.problems == ()
    assert (found.rows[0].text, found.rows[0].origin) == ("horovod", "--strategy")
    assert judge(BAD[name][0], asked="auto") == judge(BAD[name][0])


def test_a_syntax_error_under_strategy_horovod_is_a_warning():
    (problem,) = judge(HVD + "def f(:\n", asked="horovod").problems
    assert problem.severity == "warning"


@pytest.mark.parametrize("name", OPEN)
def test_a_source_that_cannot_be_followed_is_never_refused(name: str):
    tree, word = OPEN[name]
    (problem,) = judge(tree).problems
    assert (problem.severity, problem.rule) == ("warning", "strategy-unseen")
    assert word in str(problem)
    assert "--strategy horovod" in problem.fix


@pytest.mark.parametrize("name", NEWER)
def test_syntax_of_a_newer_python_is_no_error(name: str):
    since, text = NEWER[name]
    found = judge(HVD + text)
    if sys.version_info >= since:
        assert found.problems == ()
    else:
        (problem,) = found.problems
        assert (problem.severity, problem.rule) == ("warning", "script-syntax")


@pytest.mark.parametrize(
    "text", ["# -*- coding: future_fstrings -*-\n", "from __future__ import lazy\n", "(" * 300]
)
def test_what_another_python_may_read_is_no_error(text: str):
    (problem,) = judge(text + HVD + ")" * text.count("(")).problems
    assert (problem.severity, problem.rule) == ("warning", "script-syntax")


def test_a_notebook_is_told_how_to_become_a_script():
    (problem,) = judge(NOTEBOOK, "train.ipynb").problems
    assert problem.rule == "script-notebook"
    assert "jupyter nbconvert --to script train.ipynb" in problem.fix


def test_a_shell_script_is_told_from_a_python_one():
    (problem,) = judge("#!/bin/bash\nhorovodrun -np 2 python train.py\n", "run.sh").problems
    assert problem.rule == "script-shell"


def test_horovod_chosen_by_an_argument_counts():
    text = "import ignite.distributed as idist, sys\nidist.Parallel(backend=sys.argv[1])\n"
    found = judge(text, said=("--backend", "horovod"))
    assert (found.problems, found.rows[0].text) == ((), "horovod")


def test_a_module_that_stays_behind_is_said_to():
    (problem,) = judge("import yaml\nimport torch\n", absent=frozenset({"yaml"})).problems
    assert (problem.severity, "stays behind" in problem.found) == ("warning", True)


def test_text_and_comments_are_no_use_of_another_strategy():
    (problem,) = judge(
        TF + "# strategy = tf.distribute.MirroredStrategy()\n'torch.distributed, accelerate'\n"
        "print('tf.distribute.MirroredStrategy()')\n"
    ).problems
    assert problem.rule == "strategy-none"


def test_only_files_that_name_horovod_are_parsed_where_it_is_found():
    tree = {"train.py": "def main():\n    import a\n", "a.py": "import b, c\n", "b.py": HVD}
    texts = SourceTexts(contents={**{k: v.encode() for k, v in tree.items()}, "c.py": b"x = (\n"})
    facts = facts_in(texts, "train.py")
    assert facts is not None
    assert read(facts, 2).problems == ()
    assert sorted(facts.parsed) == ["b.py", "train.py"]

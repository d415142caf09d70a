"""Which strategy a job gets, with the processes that a host runs for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from launchers.core.analysis.strategy_choice import choose_strategy
from launchers.core.planning.plan import StrategyChoice, layout
from launchers.core.source.script import read_source
from launchers.core.spec.job import JobSpec
from launchers.core.strategies import NAMES
from tests.core.in_memory import script

HVD = "import horovod.torch as hvd\nhvd.init()\n"
DDP = "import torch.distributed as dist\ndist.init_process_group('gloo')\n"


def choose(
    folder: Path, text: str, gpus: int = 0, served: Any = NAMES, **job: Any
) -> StrategyChoice:
    spec = JobSpec(script=str(script(folder, text)), **job)
    return choose_strategy(spec, read_source(spec), gpus, served)


def test_the_source_decides_and_the_place_is_shown(tmp_path: Path):
    found = choose(tmp_path, DDP, processes=2)
    assert (found.name, found.processes, found.problems) == ("torch", 2, ())
    (row,) = found.rows
    assert row.origin == "train.py:2 calls torch.distributed.init_process_group"


def test_of_a_script_that_is_not_read_only_what_was_asked_for_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    for job in (
        {"script": "nosuch.py"},
        {"script": str(script(tmp_path, DDP)), "source": str(tmp_path / "empty")},
        {"module": "a.nope", "source": str(tmp_path)},
        {"script": "train.py", "source": "/"},
    ):
        spec = JobSpec(**job, processes=2)
        assert not choose_strategy(spec, read_source(spec), 0).known
        asked = JobSpec(**job, processes=2, strategy="horovod")
        assert choose_strategy(asked, read_source(asked), 0).known
    assert choose(tmp_path, DDP, processes=2).known


def test_each_gpu_of_a_host_gets_a_rank(tmp_path: Path):
    assert choose(tmp_path, DDP, gpus=4).processes == 4


def test_what_a_provider_does_not_start_is_refused(tmp_path: Path):
    for asked in (None, "torch"):
        found = choose(tmp_path, DDP, gpus=4, served=("horovod",), strategy=asked)
        (problem,) = found.problems
        assert (problem.severity, problem.rule) == ("error", "strategy-provider")
        assert problem.expected == "Horovod, which is all that this provider starts"


def test_one_rank_of_a_script_without_a_strategy_is_none_without_a_word(tmp_path: Path):
    found = choose(tmp_path, "import numpy as np\nprint(np.ones(3))\n")
    assert (found.name, found.rows, found.problems) == ("none", (), ())


@pytest.mark.parametrize("asked", [None, "none", "torch"])
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "script-notebook"),
        ("def train(:\n    pass\n", "script-syntax"),
        ("", "script-empty"),
    ],
)
def test_what_keeps_one_rank_from_running_is_told(
    tmp_path: Path, text: str, rule: str, asked: str | None
):
    found = choose(tmp_path, text, strategy=asked)
    assert [problem.rule for problem in found.problems] == [rule]
    # Whoever has said how it joins may know a Python that reads it.
    severity = "warning" if asked and rule == "script-syntax" else "error"
    assert found.problems[0].severity == severity


def test_one_rank_of_horovod_is_what_it_was(tmp_path: Path):
    found = choose(tmp_path, HVD)
    assert (found.name, found.rows) == ("horovod", ())


def test_one_rank_of_code_that_cannot_be_followed_is_started_for_horovod(tmp_path: Path):
    assert choose(tmp_path, "import mycorp.train\n").name == "horovod"


def test_one_rank_that_joins_gets_the_variables_for_it(tmp_path: Path):
    found = choose(tmp_path, DDP)
    assert (found.name, [row.text for row in found.rows]) == ("torch", ["torch"])
    # Where only Horovod is started nothing keeps one rank from running.
    assert choose(tmp_path, DDP, served=("horovod",)).problems == ()


def test_one_rank_may_be_asked_for_as_none_where_a_provider_has_no_word_for_it(tmp_path: Path):
    found = choose(tmp_path, DDP, served=("horovod",), strategy="none")
    assert (found.name, found.problems) == ("horovod", ())


MANY = "import tensorflow as tf\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
MIRRORED = "import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\n"


def test_tensorflow_has_one_process_a_host_for_all_its_gpus(tmp_path: Path):
    found = choose(tmp_path, MANY, gpus=4, instances=2)
    assert (found.name, found.processes, found.problems) == ("tensorflow", 1, ())
    assert found.strategy.world_size(2, found.processes, 4) == 8
    assert found.strategy.world_size(2, found.processes, 0) == 2
    assert layout(2, 1, 4) == "2 hosts x 1 process x 4 replicas = world size 8"


def test_several_processes_of_a_host_are_refused_where_one_has_all_gpus(tmp_path: Path):
    (problem,) = choose(tmp_path, MANY, gpus=4, instances=2, processes=4).problems
    assert (problem.severity, problem.rule) == ("error", "strategy-processes")
    assert choose(tmp_path, MANY, gpus=4, instances=2, processes=1).problems == ()


def test_a_strategy_of_one_host_is_refused_on_several(tmp_path: Path):
    (problem,) = choose(tmp_path, MIRRORED, gpus=4, instances=2).problems
    assert (problem.severity, problem.rule) == ("error", "strategy-one-host")
    assert "MultiWorkerMirroredStrategy" in problem.fix
    assert choose(tmp_path, MIRRORED, gpus=4).problems == ()
    both = MIRRORED + "other = tf.distribute.MultiWorkerMirroredStrategy()\n"
    assert choose(tmp_path, both, gpus=4, instances=2).problems == ()
    assert choose(tmp_path, MIRRORED, instances=2, strategy="tensorflow").problems == ()


def test_horovod_beside_a_mirrored_strategy_stays_horovod(tmp_path: Path):
    assert choose(tmp_path, HVD + MIRRORED, instances=2).name == "horovod"

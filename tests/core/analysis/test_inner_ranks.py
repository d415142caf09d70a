"""Habits from other launchers are told before ranks start."""

from __future__ import annotations

import pytest

from launchers.core.analysis.facts import facts_in
from launchers.core.analysis.inner_ranks import problems_of_habits
from launchers.core.model.problems import Problem
from launchers.core.source.texts import SourceTexts
from launchers.core.strategies import named

HABITS = {
    "ranks-inside": [
        "import torch.multiprocessing as mp\nmp.spawn(main, nprocs=4)\n",
        "import torch\ntorch.multiprocessing.start_processes(main)\n",
        "from torch.distributed.launcher.api import elastic_launch\nelastic_launch(1, main)()\n",
        "import subprocess\nsubprocess.run(['torchrun', '--nproc_per_node', '4', 'x.py'])\n",
        "import os\nos.system('torchrun --nproc_per_node=4 x.py')\n",
        "from accelerate import notebook_launcher\nnotebook_launcher(main, num_processes=2)\n",
    ],
    "ranks-counted": [
        "args.world_size = ngpus_per_node * args.world_size\n",
        "import os, torch\nn = int(os.environ['WORLD_SIZE']) * torch.cuda.device_count()\n",
    ],
}
NONE = [
    "import torch.multiprocessing as mp\nmp.set_start_method('spawn')\nmp.Process(target=f)\n",
    "batch = args.batch_size // args.world_size\nscale = lr * args.world_size\n",
    '"""Run it by torchrun --nproc_per_node 4."""\n# torchrun x\nprint(\'torch\')\n',
    "loader = DataLoader(data, multiprocessing_context='spawn')\n",
    "total = world_size * batch_size\n",
    'place = (world_size, "torchrun\'s variables")\n',
]


def told(text: str, *arguments: str, strategy: str = "torch") -> list[Problem]:
    facts = facts_in(SourceTexts(contents={"train.py": text.encode()}), "train.py")
    assert facts is not None
    return problems_of_habits(facts, named(strategy), arguments)


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in HABITS.items() for text in texts]
)
def test_a_habit_of_another_launcher_is_a_warning_at_its_line(rule: str, text: str):
    (problem,) = told(text)
    assert (problem.rule, problem.severity) == (rule, "warning")
    assert problem.path == f"train.py:{len(text.splitlines())}"


@pytest.mark.parametrize("text", NONE)
def test_other_code_is_none(text: str):
    assert told(text, "--epochs", "3", "--local_rank=0") == []


def test_a_launchers_arguments_are_told_once():
    (problem,) = told("", "--nproc_per_node=4", "--epochs", "3", "--nnodes", "2")
    assert problem.rule == "ranks-argument"
    assert problem.found == "--nproc_per_node, --nnodes for the script"


@pytest.mark.parametrize("name", ["horovod", "none"])
def test_a_job_of_another_strategy_hears_nothing_of_it(name: str):
    assert told(HABITS["ranks-inside"][0], strategy=name) == []

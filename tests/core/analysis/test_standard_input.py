"""Which scripts read standard input, and when data waits there."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.analysis import standard_input
from launchers.core.analysis.standard_input import reads_standard_input


@pytest.mark.parametrize(
    "text",
    [
        "name = input()",
        "import sys\ntext = sys.stdin.read()",
        "import sys\ndata = sys.stdin.buffer.read()",
        "import sys\nfor line in sys.stdin:\n    print(line)",
        "import sys\nwords = [line.strip() for line in sys.stdin]",
        "import json, sys\nconfig = json.load(sys.stdin)",
        "from sys import stdin\nfor line in stdin:\n    print(line)",
        "text = open(0).read()",
        "text = open('/dev/stdin').read()",
    ],
)
def test_a_script_that_reads_it_is_known(tmp_path: Path, text: str):
    script = tmp_path / "train.py"
    script.write_text(text)
    assert reads_standard_input(script)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "print('input()')",
        "import sys\nif sys.stdin.isatty():\n    print('a person is there')",
        "import sys\nsys.stdin.close()",
        "import sys\nsys.stdin = open('data.txt')",
        "import subprocess\nsubprocess.run(['x'], stdin=subprocess.DEVNULL)",
        "def input(shape):\n    return shape\nx = input(3)",
        "from keras.layers import Input as input\nx = input((3,))",
        "process.stdin.write('x')",
        "import argparse, sys\nargparse.ArgumentParser().add_argument('f', default=sys.stdin)",
        "open(path)\nopen(False)",
        "this is no Python: input(",
    ],
)
def test_a_script_that_only_mentions_it_is_not(tmp_path: Path, text: str):
    script = tmp_path / "train.py"
    script.write_text(text)
    assert not reads_standard_input(script)


def test_a_script_that_is_not_there_reads_nothing(tmp_path: Path):
    assert not reads_standard_input(tmp_path / "none.py")


@pytest.mark.parametrize(("waiting", "severity"), [(True, "error"), (False, "warning")])
def test_data_that_no_rank_would_get_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: bool, severity: str
):
    script = tmp_path / "train.py"
    script.write_text("import sys\ntext = sys.stdin.read()\n")
    monkeypatch.setattr(standard_input, "is_given", lambda: True)
    monkeypatch.setattr(standard_input, "has_data", lambda: waiting)
    (problem,) = standard_input.problems(script, "the ranks")
    assert (problem.rule, problem.severity) == ("stdin-lost", severity)
    assert "--data FILE" in problem.fix
    monkeypatch.setattr(standard_input, "is_given", lambda: False)
    assert standard_input.problems(script, "the ranks") == []

"""What is missing of a job's source is told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.source.script import read_source
from launchers.core.spec.job import JobSpec


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"requirements": "none.txt"}, "requirements-missing"),
        ({"source": "none"}, "source-missing"),
    ],
)
def test_a_file_or_folder_that_is_not_there_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, str], rule: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import horovod.tensorflow as hvd\n")
    source = read_source(JobSpec(script="train.py", **values))
    told = [*source.problems, *source.requirements_problems, *source.bundle.problems]
    assert [problem.rule for problem in told] == [rule]

"""Where a job's source lies; what is missing of it is told once."""

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


@pytest.mark.parametrize(
    "values",
    [
        {"script": "../train.py"},
        {"script": "../sub/../train.py"},
        {"script": "../linked/../train.py"},
        {"script": "train.py", "source": ".."},
        {"module": "train", "source": "../sub/.."},
    ],
)
def test_however_the_way_goes_it_is_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, str]
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "linked").symlink_to("sub")
    (tmp_path / "train.py").write_text("print()\n")
    (tmp_path / "needs.txt").write_text("six\n")
    monkeypatch.chdir(tmp_path / "sub")
    source = read_source(JobSpec(requirements="../needs.txt", **values))
    assert (source.folder, source.script) == (tmp_path, "train.py")
    assert source.requirements == tmp_path / "needs.txt"
    assert source.problems == ()


def test_a_script_behind_a_folder_that_is_not_there_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("print()\n")
    (problem,) = read_source(JobSpec(script="none/../train.py")).problems
    assert problem.rule == "script-missing"

"""Requirements must be complete in the one file that travels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.source.trees import Scanned, plant

REQUIREMENTS = {
    "plain": ("numpy==1.26\n# -r other.txt\n--extra-index-url https://x/simple\n", []),
    "from a repository": ("git+https://github.com/a/b.git\n-e git+https://github.com/a/b\n", []),
    "from a URL": ("x @ https://host/x.whl\n-r https://host/r.txt\n", []),
    "another file": ("numpy\n-r base.txt\n--constraint=c.txt\n", [2, 3]),
    "itself": ("-e .\n./wheel.whl\nfile:///tmp/x.whl\nx @ file:///tmp/y.whl\n", [1, 2, 3, 4]),
}


@pytest.mark.parametrize(("text", "lines"), REQUIREMENTS.values(), ids=REQUIREMENTS)
def test_requirements_that_need_another_local_file_are_refused(
    scanned: Scanned, tmp_path: Path, text: str, lines: list[int]
) -> None:
    requirements = plant(tmp_path, {"r.txt": text}) / "r.txt"
    problems = scanned({"train.py": ""}, requirements=requirements).problems
    assert [problem.path for problem in problems] == [f"{requirements}:{line}" for line in lines]
    assert {problem.rule for problem in problems} <= {"requirements-local"}


def test_requirements_that_are_no_text_are_refused(scanned: Scanned, tmp_path: Path) -> None:
    requirements = plant(tmp_path, {"r.txt": b"numpy\xff\n"}) / "r.txt"
    (problem,) = scanned({"train.py": ""}, requirements=requirements).problems
    assert problem.rule == "requirements-unreadable"


def test_requirements_that_do_not_exist_are_a_problem(scanned: Scanned, tmp_path: Path) -> None:
    for path in (tmp_path / "missing.txt", tmp_path):
        (problem,) = scanned({"train.py": ""}, requirements=path).problems
        assert problem.path == "--requirements"

"""The plan's rows, where they say what a script will do."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.spec.job import JobSpec
from tests.core.in_memory import planned, script


def checkpoints(arguments: tuple[str, ...], path: Path | None) -> tuple[str, str]:
    plan = planned(JobSpec(script=str(path) if path else None, arguments=arguments))
    (row,) = [row for row in plan.rows if row.label == "checkpoints"]
    return row.text, row.origin


@pytest.mark.parametrize(
    "arguments",
    [
        ("--checkpoint-dir", "/kept"),
        ("--checkpoint-dir=/kept",),
        ("--checkpoint-dir", "/first", "--epochs", "2", "--checkpoint-dir=/kept"),
    ],
)
def test_a_shared_scripts_checkpoints_lie_where_its_argument_says(arguments: tuple[str, ...]):
    expected = ("/kept", "--checkpoint-dir, an argument of the script")
    assert checkpoints(arguments, None) == expected


def test_where_those_of_another_script_lie_depends_on_it(tmp_path: Path):
    text, origin = checkpoints(("--checkpoint-dir", "/kept"), script(tmp_path))
    assert text.startswith("mem://")
    assert origin == "or where the script's own --checkpoint-dir /kept says"


@pytest.mark.parametrize("arguments", [(), ("--checkpoint-dir",), ("--epochs", "2")])
def test_without_that_argument_they_lie_where_the_job_says(arguments: tuple[str, ...]):
    text, origin = checkpoints(arguments, None)
    assert text.startswith("mem://")
    assert origin == ""

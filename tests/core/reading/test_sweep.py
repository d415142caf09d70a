"""Many jobs from one file."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.core.reading.sweep import MOST_JOBS, expand


def expanded(tree: dict[str, Any], sweep: Any) -> list[dict[str, Any]]:
    jobs, problems = expand(tree, sweep, "sweep")
    assert problems == []
    return jobs


@pytest.mark.parametrize(
    ("tree", "entry", "job"),
    [
        ({"gpus": 1}, {"gpus": 2}, {"gpus": 2}),
        ({}, {"env.SEED": 1}, {"env": {"SEED": 1}}),
        ({"env": {"A": 1}}, {"env.SEED": 1}, {"env": {"A": 1, "SEED": 1}}),
        ({"env": {"A": 1}}, {"env": {"B": 2}}, {"env": {"A": 1, "B": 2}}),
        ({"sagemaker": {"a": 1}}, {"sagemaker.b.c": 2}, {"sagemaker": {"a": 1, "b": {"c": 2}}}),
        ({}, {"args.lr": 1}, {"args": {"lr": 1}}),
        ({"args": {"lr": 2, "x": 3}}, {"args.lr": 1}, {"args": {"lr": 1, "x": 3}}),
        ({"args": ["--lr", 2, "x"]}, {"args.lr": 1}, {"args": ["x", "--lr", 1]}),
        ({"args": ["--lr=2", "--lrs=3"]}, {"args.lr": 1}, {"args": ["--lrs=3", "--lr", 1]}),
        # What the file has is wrong, and told so at its own place; here it may not be in the way.
        ({"env": ["A=1"]}, {"env.SEED": 1}, {"env": {"SEED": 1}}),
        ({"sagemaker": True}, {"sagemaker.b": 2}, {"sagemaker": {"b": 2}}),
        ({"script": "a.py"}, {"script.x": 1}, {"script": {"x": 1}}),
        ({"args": "--lr 2"}, {"args.lr": 1}, {"args": "--lr 2"}),
        ({"args": 5}, {"args.lr": 1}, {"args": 5}),
    ],
)
def test_an_entry_comes_on_top_of_the_file(
    tree: dict[str, Any], entry: dict[str, Any], job: dict[str, Any]
) -> None:
    before = repr(tree)

    assert expanded(tree, {"jobs": [entry]}) == [job]
    assert repr(tree) == before


def test_a_matrix_is_every_combination_in_order() -> None:
    jobs = expanded({"name": "n"}, {"matrix": {"gpus": [1, 2], "args.lr": [3, 4]}})

    assert [(job["gpus"], job["args"]["lr"]) for job in jobs] == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert {job["name"] for job in jobs} == {"n"}


@pytest.mark.parametrize(
    ("sweep", "path", "rule"),
    [
        ([], "sweep", "sweep-shape"),
        ({}, "sweep", "sweep-shape"),
        ({"job": []}, "sweep", "sweep-shape"),
        ({"jobs": [], "matrix": {}}, "sweep", "sweep-shape"),
        ({"jobs": []}, "sweep.jobs", "sweep-shape"),
        ({"jobs": ["x"]}, "sweep.jobs[0]", "sweep-shape"),
        ({"matrix": []}, "sweep.matrix", "sweep-shape"),
        ({"matrix": {"gpus": []}}, "sweep.matrix.gpus", "sweep-shape"),
        ({"matrix": {"gpus": 1}}, "sweep.matrix.gpus", "sweep-shape"),
        ({"matrix": {"gpus": [*range(MOST_JOBS + 1)]}}, "sweep.matrix", "sweep-too-large"),
        ({"jobs": [{"gpus": 1}, {"gpus": 1}]}, "sweep.jobs[1]", "sweep-twice"),
    ],
)
def test_a_sweep_that_is_none_names_the_place(sweep: Any, path: str, rule: str) -> None:
    _, problems = expand({}, sweep, "sweep")

    assert [(problem.path, problem.rule) for problem in problems] == [(path, rule)]
    assert "did you mean jobs?" in str(problems[0]) or sweep != {"job": []}

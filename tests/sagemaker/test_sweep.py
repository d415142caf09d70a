"""Many jobs of one launch.yaml."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from launchers.core.reading.sweep import expand
from tests.cli.command import Launch
from tests.fakes.job_scenarios import BY_HAND
from tests.sagemaker.service.submitting import Bench, bench, proven_job

BASE = {"args": {"lr": "1", "epochs": "3"}, "env": {"A": "1"}, "sagemaker": {"retries": 2}}


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def test_a_matrix_is_every_combination_with_the_files_other_keys():
    trees, problems = expand(
        BASE, {"matrix": {"args.lr": ["0.1", "0.2"], "env.B": ["x", "y"]}}, "sweep"
    )
    assert not problems
    told = [(tree["args"], tree["env"]) for tree in trees]
    assert told[0] == ({"lr": "0.1", "epochs": "3"}, {"A": "1", "B": "x"})
    assert [(args["lr"], env["B"]) for args, env in told] == [
        ("0.1", "x"),
        ("0.1", "y"),
        ("0.2", "x"),
        ("0.2", "y"),
    ]


def test_jobs_stand_on_top_of_the_file():
    trees, _ = expand(
        BASE, {"jobs": [{"instances": 2}, {"sagemaker": {"keep_alive": "30m"}}]}, "sweep"
    )
    assert trees[0] == {**BASE, "instances": 2}
    assert trees[1]["sagemaker"] == {"retries": 2, "keep_alive": "30m"}


def test_an_argument_gives_way_in_a_list_of_words():
    tree = {"args": ["--lr", "1", "in.csv", "--lr=2"]}
    trees, _ = expand(tree, {"matrix": {"args.lr": ["3"]}}, "sweep")
    assert trees[0]["args"] == ["in.csv", "--lr", "3"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"jobs": [{"instances": 2}, {"instances": 2}]}, "the same as [0]"),
        ({"matrix": {"args.lr": ["1", "1"]}}, "the same as [0]"),
        ({"matrix": {"args.lr": []}}, "no list of values"),
        ({"jobs": []}, "no list of jobs"),
        ({"matrx": {}}, "matrx"),
        ({"matrix": {"instances": list(range(99)), "gpus": list(range(99))}}, "9801 jobs"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_an_error(content: object, words: str):
    _, problems = expand(BASE, content, "sweep")
    assert words in " ".join(map(str, problems))


def test_numbers_reach_the_script_as_the_file_has_them(tried: Bench):
    answer = tried.sweep("sweep: {matrix: {args.lr: [1.10, 1e-3]}}\n", "--dry-run")
    assert answer.code == 0, answer.err
    assert '\\"1.10\\"' in answer.out
    assert '\\"1e-3\\"' in answer.out


def test_credentials_that_expire_during_a_sweep_are_waited_for(tried: Bench):
    tried.aws.jobs.scenario = proven_job(paces={"Training": BY_HAND})
    tried.launch.write("sweep.yaml", "sweep: {jobs: [{args.seed: 0}, {args.seed: 1}]}\n")
    words = tried.words("-f", "sweep.yaml")
    process = tried.launch.start(*words, **tried.environment())
    assert process.stderr
    lines = iter(process.stderr.readline, "")
    list(_until(lines, "  running", 2))
    tried.aws.account.expire()
    list(_until(lines, "no longer valid", 2))
    tried.aws.account.renew()
    for job in list(tried.aws.jobs):
        tried.aws.jobs.run_to(job.name, "Uploading")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.count("succeeded") == 2


def _until(lines: Iterator[str], words: str, count: int) -> Iterator[str]:
    """The lines up to the one in which ``words`` stand for the ``count``-th time."""
    for line in lines:
        yield line
        count -= words in line
        if not count:
            return
    raise AssertionError(f"ended without {words!r}")

"""A job's name: the same request, the same digest."""

from __future__ import annotations

import re

import pytest

from launchers.core.records.naming import Run, job_base, job_name
from launchers.core.spec.job import NAME_PATTERN, JobSpec


@pytest.mark.parametrize(
    ("job", "begin"),
    [
        (JobSpec(), "train-image-classifier-"),
        (JobSpec(script="src/My Script_v2.py"), "My-Script-v2-"),
        (JobSpec(script="__.py"), "job-"),
        (JobSpec(module="trainer.task"), "trainer-task-"),
        (JobSpec(module="my_pkg.__main__"), "my-pkg-"),
        (JobSpec(name="demo"), "demo-"),
        (JobSpec(name="a" * 80), "a" * 49 + "-"),
    ],
)
def test_a_name_begins_with_the_users_word_and_fits_every_provider(job: JobSpec, begin: str):
    name = job_name(job_base(job, {"a": 1}, "0" * 64), 9999)
    assert name.startswith(begin)
    assert len(name) <= 63
    assert re.fullmatch(NAME_PATTERN, name)


def test_the_digest_depends_on_document_and_source_and_on_nothing_else():
    same = {job_base(JobSpec(name=name), {"a": 1, "b": 2}, "s")[-8:] for name in ("x", "y")}
    assert same == {job_base(JobSpec(), {"b": 2, "a": 1}, "s")[-8:]}
    assert same != {job_base(JobSpec(), {"a": 1, "b": 3}, "s")[-8:]}
    assert same != {job_base(JobSpec(), {"a": 1, "b": 2}, "t")[-8:]}


def test_the_same_request_has_the_same_digest_in_every_release_of_the_launcher():
    assert job_base(JobSpec(name="x"), {"b": 1, "a": "Köln"}, "s") == "x-583016b6"


def test_a_run_has_its_name_and_digest_and_a_plan_without_one_a_stand_in():
    assert (Run("x-0badcafe", 3).name, Run("x-0badcafe").name) == ("x-0badcafe-3", "x-0badcafe-1")
    assert Run("my-x-0badcafe", 3).digest == "0badcafe"
    assert (Run().name, Run().digest) == ("NAME", "")

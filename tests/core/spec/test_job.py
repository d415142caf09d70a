"""What a user asks for: the fields that are flags, the job's name, values on top of others."""

from __future__ import annotations

from dataclasses import fields

import pytest

from launchers.core.spec.job import JobSpec, base_name
from launchers.core.spec.layers import over
from launchers.core.spec.option import default_of, key_of, option_fields


@pytest.mark.parametrize(
    ("job", "name"),
    [
        (JobSpec(), "train-image-classifier"),
        (JobSpec(script="train.py"), "train"),
        (JobSpec(script="a/b/train_v2.1.py"), "train-v2-1"),
        (JobSpec(script="größe.py"), "gr-e"),
        (JobSpec(script="__.py"), "job"),
        (JobSpec(script="train"), "train"),
        (JobSpec(module="trainer.task"), "trainer-task"),
        (JobSpec(module="trainer.__main__", script="trainer/__main__.py"), "trainer"),
        (JobSpec(module="trainer.task", name="Mine"), "Mine"),
    ],
)
def test_a_name_is_given_or_made_of_script_or_module(job, name):
    assert base_name(job) == name


def test_fields_without_a_help_are_no_flags_and_unused_ones_are_left_out():
    names = [item.name for item, _ in option_fields(JobSpec)]
    assert "script" in names
    assert "tags" in names
    assert not {"provider", "options", "origins"} & set(names)
    without = [item.name for item, _ in option_fields(JobSpec, frozenset({"spot"}))]
    assert [name for name in names if name != "spot"] == without


def test_keys_and_defaults_are_the_fields_own():
    by_name = {item.name: item for item in fields(JobSpec)}
    assert key_of(by_name["environment"]) == "env"
    assert key_of(by_name["instances"]) == "instances"
    assert default_of(by_name["instances"]) == 1
    first = default_of(by_name["environment"])
    first["changed"] = "here"
    assert default_of(by_name["environment"]) == {}


def test_mappings_are_merged_by_name_and_anything_else_replaced():
    base = {"env": {"A": "1", "B": "2"}, "instances": 2, "words": (1,)}
    upper = {"env": {"B": "3"}, "words": (2,), "tags": {"x": "y"}}
    assert over(base, upper) == {
        "env": {"A": "1", "B": "3"},
        "instances": 2,
        "words": (2,),
        "tags": {"x": "y"},
    }
    assert base["env"] == {"A": "1", "B": "2"}

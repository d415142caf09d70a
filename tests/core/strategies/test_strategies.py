"""Each strategy has two halves that say the same, and a name that all of the command line knows."""

from __future__ import annotations

import json

import pytest
from launch_runtime.strategies import named as half_of

from launchers.core.strategies import ALONE, FIRST, NAMES, joining, named, others, said_by
from launchers.core.strategies.strategy import Strategy, Use
from tests.cli.command import Launch


def test_the_first_and_that_of_one_rank_stand_at_the_ends():
    assert (NAMES[0], NAMES[-1]) == (FIRST, ALONE)
    assert NAMES[1:-1] == tuple(sorted(NAMES[1:-1]))


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_has_its_other_half_in_the_rank(name: str):
    strategy, half = named(name), half_of(name)
    assert (strategy.name, half.name) == (name, name)
    assert strategy.settles_keras == half.settles_keras
    assert strategy.one_a_host == half.replicated
    # What the ranks are told their places by is what a user may not set; Horovod's own are
    # reserved in every job.
    names = [] if name == FIRST else half.place_names
    assert [word for word in names if not strategy.reserves(word)] == []


@pytest.mark.parametrize("strategy", joining(), ids=lambda one: one.name)
def test_a_strategy_says_all_that_people_are_told(strategy: Strategy):
    assert all((strategy.title, strategy.joining, strategy.bring_in, strategy.library))
    assert strategy.package


def test_what_is_not_started_is_no_use_of_what_is():
    started = {use.title for one in joining() for use in one.uses}
    assert [use.title for use in others.USES if use.title in started] == []


def test_a_mark_ends_with_a_name():
    use = Use("x", (r"ray",))
    assert use.shown_by(["raytracer", "array.ray"]) == ""
    assert use.shown_by(["os", "ray.train.Trainer"]) == "ray.train.Trainer"


@pytest.mark.parametrize(
    ("environment", "name"),
    [({}, ""), ({"LAUNCH_STRATEGY": "torch"}, "torch"), ({"LAUNCH_STRATEGY": "horovod"}, "")],
)
def test_a_document_says_its_strategy_by_a_variable(environment: dict[str, str], name: str):
    assert said_by(environment) == name
    assert said_by({"LAUNCH_STRATEGY": "../evil"}) == ""


def test_help_and_schema_have_every_name(launch: Launch):
    words = ["auto", *NAMES]
    assert ", ".join(words) in " ".join(launch("local", "--help-all").out.split())
    schema = json.loads(launch("schema").out)
    assert schema["properties"]["strategy"]["enum"] == words

"""Flags that are read by a value type."""

from __future__ import annotations

import click
import pytest

from launchers.cli.values import FlagType
from launchers.cli.verb import Verb
from launchers.core.model.problems import LaunchError
from launchers.core.spec.value_types import Count, Duration

COMMAND = Verb(
    "try",
    callback=lambda **values: values,
    params=[
        click.Option(["-n", "--number"], type=FlagType(Count(1, 8))),
        click.Option(["--wait"], type=FlagType(Duration())),
    ],
)


def test_a_flag_has_the_value_that_its_text_stands_for_and_none_without():
    assert COMMAND.main(["--wait", "1h"], standalone_mode=False) == {"number": None, "wait": 3600}


def test_all_wrong_values_are_told_at_once():
    with pytest.raises(LaunchError) as raised:
        COMMAND.main(["-n", "9", "--wait", "soon"], standalone_mode=False)
    number, wait = raised.value.problems
    assert (number.path, number.found, number.rule) == ("-n", "'9'", "flag-value")
    assert number.expected == "a whole number from 1 to 8"
    assert wait.path == "--wait"
    assert raised.value.exit_code == 2

"""Limits of how long agents wait: by flag, by launch.yaml, in the document, and not by --env."""

from __future__ import annotations

import re

import pytest

from launchers.core.rules.environment import problems_in_names
from launchers.core.spec.limits import VARIABLES, Limits, variables
from tests.places import ENTRYPOINTS, ROOT


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("join=10m", {"join": "10m"}),
        ({"join": "10m", "host": "90s"}, {"join": "10m", "host": "90s"}),
        ({}, {}),
    ],
)
def test_limits_are_names_with_times(given: object, read: dict[str, str]) -> None:
    assert Limits().parse(given) == read


@pytest.mark.parametrize(
    "given", ["join", "join=", "join=10", "join=0s", "joins=10m", "join=8d", {"join": 600}, "=10m"]
)
def test_what_is_no_limit_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"^(wrong parts)?$"):
        Limits().parse(given)


def test_a_provider_takes_the_names_that_it_has_alone() -> None:
    kind = Limits(names=("join", "host"))
    assert kind.parse("host=1m") == {"host": "1m"}
    with pytest.raises(ValueError, match=r"^$"):
        kind.parse("bundle=1m")
    assert "join or host" in kind.expected
    assert list(kind.json_schema["properties"]) == ["join", "host"]


def test_agents_are_told_in_seconds() -> None:
    assert variables({"join": "1h30m", "bundle": "90s"}) == {
        "LAUNCH_JOIN_TIMEOUT": "5400",
        "LAUNCH_BUNDLE_TIMEOUT": "90",
    }


@pytest.mark.parametrize("name", VARIABLES)
def test_each_limit_is_read_in_a_replica_and_refused_by_env_with_its_flag(name: str) -> None:
    settings = (ENTRYPOINTS / "launch_runtime/host/settings.py").read_text()
    bootstrap = (ROOT / "templates/vertex/bootstrap.py").read_text()
    assert re.search(rf"['\"]{VARIABLES[name]}['\"]", settings + bootstrap)
    (problem,) = problems_in_names({VARIABLES[name]: "1"})
    assert problem.fix == f"use --limit {name}=TIME"

"""A provider is found by its name, and imported on use."""

from __future__ import annotations

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.registry import PROVIDERS, data_files, provider, providers_with


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_each_provider_has_the_name_that_it_is_found_by(name):
    assert provider(name).name == name


def test_an_unknown_one_is_refused_with_the_nearest():
    with pytest.raises(LaunchError) as error:
        provider("sage-maker")
    (problem,) = error.value.problems
    assert problem.rule == "provider-unknown"
    assert problem.fix == "did you mean sagemaker?"
    assert all(name in problem.expected for name in PROVIDERS)


def test_a_role_is_there_or_not():
    assert set(providers_with(lambda one: one.contract)) == {"sagemaker", "vertex", "spark"}
    assert set(providers_with(lambda one: one.definer)) == set(PROVIDERS)


def test_data_files_are_those_of_providers_that_have_one():
    assert {file.parent.name for file in data_files("minimums.json")} == {"sagemaker", "vertex"}
    assert data_files("none.json") == []

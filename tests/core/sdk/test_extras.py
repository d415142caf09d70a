"""The extras that bring the clouds' SDKs: what is missing is told by the line that installs it."""

from __future__ import annotations

import sys

import pytest
import tomli

from infra.bootstrap import requirements
from launchers.core import extras
from launchers.core.model.problems import EXIT_SDK
from launchers.core.registry import PROVIDERS, provider
from launchers.core.roles import SILENT
from tests.places import ROOT
from tests.refusals import refused


@pytest.mark.parametrize(
    ("there", "line"),
    [
        ((), "uv pip install --python {python} 'launch-training[gcp]'"),
        (("pip",), "{python} -m pip install 'launch-training[gcp]'"),
        (("pip", "google.cloud.storage"), "{python} -m pip install 'launch-training[gcp]'"),
    ],
)
def test_an_extra_that_is_not_installed_is_one_line_for_the_installer_that_is_there(
    there: tuple[str, ...], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "_is_there", lambda module: module in there)
    with refused("sdk-version", "google-cloud-aiplatform: not installed") as raised:
        provider("vertex").heard_by(SILENT).service  # noqa: B018

    assert raised.value.exit_code == EXIT_SDK
    (problem,) = raised.value.problems
    assert problem.fix == line.format(python=sys.executable)


@pytest.mark.parametrize(
    ("module", "there"),
    [("boto3", True), ("google.cloud.storage", True), ("no_such.part", False), ("nowhere", False)],
)
def test_what_can_be_imported_is_there(module: str, there: bool) -> None:
    assert extras._is_there(module) is there


def test_every_extra_of_a_provider_is_one_of_the_project() -> None:
    project = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [one.extra for one in map(provider, PROVIDERS) if one.extra]
    assert [extra.name for extra in declared] == ["aws", "gcp"]
    for extra in declared:
        brought = map(requirements.name, project["optional-dependencies"][extra.name])
        # boto3 brings the botocore that goes with it.
        assert set(brought) == set(extra.modules) - {"botocore"}

"""The gate, against the packages that were really released."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import packaging
import pytest
from packaging.version import Version

from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_SDK, LaunchError
from launchers.core.sdk import gate as sdk_gate
from tests.places import ROOT
from tests.refusals import refused

Install = Callable[[str], Path]
Gate = Callable[..., list[dict[str, Any]]]

# Runs in a Python of its own, where the packages under test come first on the path.
PROGRAM = """
import dataclasses, json, sys
from launchers.core.sdk import gate as sdk_gate
asked = json.loads(sys.argv[1])
findings = sdk_gate.check(asked.pop("features"), **asked)
sdks = {"boto3", "botocore", "sagemaker", "google.cloud.aiplatform", "google.cloud.storage"}
imported = sdks & set(sys.modules)
assert not imported, imported
print(json.dumps([
    {**dataclasses.asdict(finding), "text": str(finding.as_problem())} for finding in findings
]))
"""


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Install]:
    """Installs one released package, without what it needs, into a folder of its own; once."""
    shared = tmp_path_factory.mktemp("released")

    def installed(requirement: str) -> Path:
        folder = shared / requirement.replace("==", "-")
        if not folder.exists():
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            command += ["--no-compile", "--disable-pip-version-check", "--target", str(folder)]
            subprocess.run([*command, requirement], check=True)
        return folder

    yield installed
    shutil.rmtree(shared)  # some 200 MB, which pytest would keep for three sessions


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Runs the gate with ``folders`` first on the path, or with nothing else on it (``alone``)."""

    def run(*folders: Path, features: list[str], alone: bool = False, **options: Any) -> Any:
        options = {"for_submission": True, **options}
        # Without site-packages the gate still needs the one library that compares versions.
        bare = tmp_path / "bare"
        bare.mkdir(exist_ok=True)
        if not (bare / "packaging").exists():
            (bare / "packaging").symlink_to(Path(packaging.__file__).parent)
        asked = json.dumps({"features": features, **options})
        path = [*folders, ROOT, *([bare] if alone else [])]
        done = subprocess.run(
            [sys.executable, *(["-S"] if alone else []), "-c", PROGRAM, asked],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def _request(*fields: str) -> list[str]:
    return [f"sagemaker.request.{field}" for field in fields]


# --- released packages


@pytest.mark.pip_network
def test_sagemaker_2_17_is_refused_whatever_the_job_uses(install: Install, gate: Gate) -> None:
    folder = install("sagemaker==2.17.0")
    for features in ([], _request("Environment"), ["vertex.request"]):
        (finding,) = gate(folder, features=features)
        assert finding["package"] == "sagemaker"
        assert finding["found"] == "2.17.0"
        assert finding["needed"] == ">=2.18.0"
        assert finding["stops"]
        assert "MPI" in finding["text"]
        words = shlex.split(finding["fix"])
        assert words[:4] == [sys.executable, "-m", "pip", "install"]
        assert words[-1] == "sagemaker>=2.18.0,<3"


@pytest.mark.pip_network
def test_sagemaker_2_18_serves_the_tensorflow_estimator_and_no_more(
    install: Install, gate: Gate
) -> None:
    folder = install("sagemaker==2.18.0")
    assert gate(folder, features=["sagemaker.estimator"]) == []
    (finding,) = gate(
        folder, features=["sagemaker.estimator.pytorch_mpi", "sagemaker.estimator.environment"]
    )
    assert finding["needed"] == ">=2.33.0,<3"
    assert len(finding["why"]) == 2


@pytest.mark.pip_network
def test_sagemaker_3_is_fine_unless_the_estimator_is_asked_for(
    install: Install, gate: Gate
) -> None:
    folder = install("sagemaker==3.0.1")
    assert gate(folder, features=_request("Environment")) == []
    (finding,) = gate(folder, features=["sagemaker.estimator.warm_pools"])
    assert finding["found"] == "3.0.1"
    assert finding["needed"] == ">=2.110.0,<3"
    assert "3.x has no estimators" in finding["text"]
    assert finding["fix"].endswith("'sagemaker>=2.110.0,<3'")


@pytest.mark.pip_network
def test_an_old_botocore_serves_the_fields_that_it_has(install: Install, gate: Gate) -> None:
    folders = install("botocore==1.23.0"), install("boto3==1.20.0")
    assert gate(*folders, features=_request("Environment", "RetryStrategy", "RoleArn")) == []
    fields = "RetryStrategy", "KeepAlivePeriodInSeconds", "MaxPendingTimeInSeconds"
    (finding,) = gate(*folders, features=_request(*fields))
    assert finding["package"] == "botocore"
    assert finding["found"] == "1.23.0"
    assert finding["needed"] == ">=1.33.0"
    assert len(finding["why"]) == 2
    assert finding["fix"].endswith("boto3 'botocore>=1.33.0'")


@pytest.mark.pip_network
def test_the_table_agrees_with_the_service_model_of_an_old_botocore(install: Install) -> None:
    model = install("botocore==1.23.0") / "botocore/data/sagemaker/2017-07-24/service-2.json"
    fields = _fields_of_the_request(json.loads(model.read_text("utf-8")))
    for row in _botocore_rows():
        assert (row.feature.rpartition(".")[2] in fields) == (
            Version(row.minimum) <= Version("1.23.0")
        ), row


@pytest.mark.pip_network
@pytest.mark.parametrize("version", ["1.65.0", "2.0.0"])
def test_vertex_refuses_a_client_outside_the_tried_range(
    install: Install, gate: Gate, version: str
) -> None:
    folder = install(f"google-cloud-aiplatform=={version}")
    (finding,) = gate(folder, features=["vertex.request.spot"])
    assert finding["package"] == "google-cloud-aiplatform"
    assert finding["found"] == version
    assert finding["needed"] == ">=1.66,<3,!=2.0.0"
    assert gate(folder, features=_request("Environment")) == []


@pytest.mark.pip_network
def test_an_accelerator_raises_the_minimum_and_an_old_one_does_not(
    install: Install, gate: Gate
) -> None:
    folder = install("google-cloud-aiplatform==1.65.0")
    needed = {
        accelerator: gate(folder, features=[f"vertex.request.accelerator.{accelerator}"])[0][
            "needed"
        ]
        for accelerator in ("NVIDIA_L4", "NVIDIA_TESLA_T4", "NVIDIA_RTX_PRO_6000")
    }
    assert needed == {
        "NVIDIA_L4": ">=1.66,<3,!=2.0.0",
        "NVIDIA_TESLA_T4": ">=1.66,<3,!=2.0.0",
        "NVIDIA_RTX_PRO_6000": ">=1.120,<3,!=2.0.0",
    }


@pytest.mark.pip_network
@pytest.mark.parametrize("version", ["1.66.0", "1.98.0"])
def test_the_table_agrees_with_the_source_of_an_old_vertex_client(
    install: Install, gate: Gate, version: str
) -> None:
    client = install(f"google-cloud-aiplatform=={version}") / "google/cloud/aiplatform_v1"
    rows = [row for row in sdk_gate.minimums() if row.feature.startswith("vertex.request.")]
    assert len(rows) >= 20
    lacking = {row.feature for row in rows if not _knows(client, row.feature)}
    assert lacking == {row.feature for row in rows if Version(row.minimum) > Version(version)}
    folder = client.parents[2]
    refused = {row.feature for row in rows if gate(folder, features=[row.feature])}
    assert refused == lacking


def _knows(client: Path, feature: str) -> bool:
    """Whether the source of aiplatform_v1 has what a request with ``feature`` says."""
    name = feature.rpartition(".")[2]
    if name == "rest":
        return (client / "services/job_service/transports/rest.py").is_file()
    messages = ("accelerator_type", "custom_job", "machine_resources")
    source = "".join((client / f"types/{file}.py").read_text("utf-8") for file in messages)
    # A value of an enumeration, or a field.
    return re.search(rf"^ +({name.upper()} = \d|{name}: )", source, re.MULTILINE) is not None


@pytest.mark.pip_network
def test_in_a_dry_run_the_same_finding_stops_nothing(install: Install, gate: Gate) -> None:
    folder = install("sagemaker==2.17.0")
    (finding,) = gate(folder, features=_request("Environment"), for_submission=False)
    assert finding["found"] == "2.17.0"
    assert not finding["stops"]
    assert "submission would stop here" in finding["text"]


@pytest.mark.pip_network
def test_an_ignored_sdk_is_named_and_stops_nothing(install: Install, gate: Gate) -> None:
    folder = install("sagemaker==2.17.0")
    (finding,) = gate(folder, features=_request("Environment"), ignore=["sagemaker"])
    assert finding["ignored"]
    assert not finding["stops"]
    assert "--ignore-sdk sagemaker" in finding["text"]


# --- the environment that the tests run in, and an empty one


def test_the_packages_of_this_project_pass(gate: Gate) -> None:
    every_field = [row.feature for row in sdk_gate.minimums() if row.feature != "installed"]
    assert gate(features=every_field) == []


@pytest.mark.processes
def test_absent_packages_are_findings_of_a_submission_alone(gate: Gate) -> None:
    features = [*_request("RetryStrategy"), "vertex.request"]
    findings = gate(features=features, alone=True)
    assert [finding["package"] for finding in findings] == [
        "boto3",
        "botocore",
        "google-cloud-aiplatform",
        "google-cloud-storage",
    ]
    assert {finding["found"] for finding in findings} == {""}
    assert "boto3: not installed" in findings[0]["text"]
    extras = [finding["fix"].rpartition(" ")[2] for finding in findings]
    assert extras == ["'launch-training[aws]'"] * 2 + ["'launch-training[gcp]'"] * 2
    assert gate(features=features, alone=True, for_submission=False) == []
    assert gate(features=[], alone=True) == []


def test_require_raises_with_the_exit_code_of_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sdk_gate.require(_request("Environment")) == []
    installed = sdk_gate.installed_version
    monkeypatch.setattr(
        sdk_gate,
        "installed_version",
        lambda name: "2.17.0" if name == "sagemaker" else installed(name),
    )
    with pytest.raises(LaunchError) as raised:
        sdk_gate.require(_request("Environment"))
    assert raised.value.exit_code == EXIT_SDK
    (problem,) = raised.value.problems
    assert (problem.rule, problem.path) == ("sdk-version", "sagemaker")
    (passed,) = sdk_gate.require(_request("Environment"), ignore=["sagemaker"])
    assert passed.ignored
    assert passed.as_problem().severity == "warning"


# --- versions and names


def _fake_installation(folder: Path, name: str, version: str | None) -> Path:
    information = folder / f"{name}-0.dist-info"
    information.mkdir(parents=True)
    line = "" if version is None else f"Version: {version}\n"
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n{line}")
    return folder


VERSIONS = {
    # found, whether it serves >=2.18.0,<3
    "2.9.0": False,
    "2.18.0rc1": False,
    "2.18.0": True,
    "2.18.0.post1": True,
    "2.100.0": True,
    "2.257.8.dev0": True,
    "2.18.0+local.1": True,
    "2.17.0.post9": False,
    "3.0.0rc1": False,
    "3": False,
    "not a version": False,
    None: False,
}


@pytest.mark.parametrize(("found", "serves"), VERSIONS.items(), ids=map(str, VERSIONS))
def test_versions_are_compared_as_versions(
    tmp_path: Path, gate: Gate, found: str | None, serves: bool
) -> None:
    folder = _fake_installation(tmp_path / "installed", "sagemaker", found)
    findings = gate(folder, features=["sagemaker.estimator"])
    assert [finding["found"] for finding in findings] == ([] if serves else [found or "unknown"])


def test_an_unknown_feature_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match=r"vertex\.request\.spots.*did you mean"):
        sdk_gate.check(["vertex.request.spots"], for_submission=False)
    with pytest.raises(ValueError, match=r"sagemaker\.estimators"):
        sdk_gate.check(["sagemaker.estimators"], for_submission=False)


def test_an_unknown_package_to_ignore_is_a_wrong_request() -> None:
    with refused("sdk-ignore", r"did you mean sagemaker\?") as raised:
        sdk_gate.check([], ignore=["sagemakr"], for_submission=False)
    assert raised.value.exit_code == EXIT_BAD_REQUEST


# --- the table


def _botocore_rows() -> Iterator[sdk_gate.SdkMinimum]:
    for row in sdk_gate.minimums():
        if row.package == "botocore" and row.feature.count(".") == 2:
            yield row


def _fields_of_the_request(model: dict[str, Any]) -> set[str]:
    """Every member name in CreateTrainingJob's input, at any depth."""
    shapes, fields, seen = model["shapes"], set(), set()
    waiting = [model["operations"]["CreateTrainingJob"]["input"]["shape"]]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        members = dict(shapes[name].get("members", {}))
        fields |= set(members)
        nested = [*members.values(), *(shapes[name].get(part) for part in ("member", "value"))]
        waiting += [part["shape"] for part in nested if part]
    return fields


def test_every_field_of_the_table_is_in_the_installed_service_model() -> None:
    import botocore

    path = Path(botocore.__file__).parent / "data/sagemaker/2017-07-24/service-2.json"
    packed = path.with_name("service-2.json.gz")
    text = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    fields = _fields_of_the_request(json.loads(text))
    assert {row.feature.rpartition(".")[2] for row in _botocore_rows()} <= fields


def test_every_row_says_why_and_where_from() -> None:
    rows = sdk_gate.minimums()
    assert len({(row.package, row.feature) for row in rows}) == len(rows)
    for row in rows:
        assert row.why
        assert row.source
        assert sdk_gate.serves(row.minimum or "1", row), row

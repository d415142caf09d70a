"""Variables for flags: which there are, which there must not be, and what a wrong one is told."""

from __future__ import annotations

import re

import pytest

from launchers.core.registry import PROVIDERS, provider
from launchers.core.spec.job import JobSpec
from launchers.core.spec.limits import VARIABLES as LIMITS
from launchers.core.spec.option import option_fields
from launchers.core.spec.variables import variables_of
from tests.cli.command import Launch
from tests.cli.defaults.given import Desk
from tests.places import ROOT
from tests.refusals import refused


def every_variable() -> set[str]:
    """Those of all flags of all providers."""
    found = set()
    for name in PROVIDERS:
        options = option_fields(provider(name).definer.options)
        for item, _ in option_fields(JobSpec) + options:
            found.update(variables_of(name, item))
    return found


def names_of_ranks() -> set[str]:
    """Those that agent, guard, bootstrap and the documents read and write."""
    files = [*(ROOT / "entrypoints").rglob("*.py"), *(ROOT / "templates").rglob("*.*")]
    for room in ("core/planning", "core/records", "local", "rehearsal", "image"):
        files += (ROOT / "launchers" / room).rglob("*.py")
    text = "\n".join(path.read_text("utf-8", errors="replace") for path in files)
    return {*re.findall(r"\bLAUNCH_[A-Z0-9_]+\b", text), *LIMITS.values()}


def test_no_flag_has_a_variable_by_which_ranks_are_told_something():
    ranks = names_of_ranks()
    assert {"LAUNCH_WORLD_SIZE", "LAUNCH_PROCESSES", "LAUNCH_NONCE"} <= ranks
    ours = every_variable()
    assert {"LAUNCH_SAGEMAKER_ROLE", "LAUNCH_VERTEX_LOCATION", "LAUNCH_LOCAL_PYTHON"} <= ours
    assert not (ours | {"LAUNCH_PROFILE", "LAUNCH_CONFIG_DIR"}) & ranks


def test_every_flag_has_one_but_those_that_are_typed_each_time():
    without = {
        item.name
        for item, _ in option_fields(JobSpec)
        if item.metadata["flags"] and not variables_of("local", item)
    }
    assert without == {"module", "environment", "secrets", "allow_values"}


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("INSTANCES", "2", "instances", 2),
        ("MAX_RUNTIME", "2h", "max_runtime", 7200),
        ("TIMEOUT", "2h", "max_runtime", 7200),
        ("LOCATION", "eu-west-1", "region", "eu-west-1"),
        ("SPOT", "1", "spot", True),
        ("SPOT", "False", "spot", False),
        ("TAG", "team=vision 'cost center=a b'", "tags", {"team": "vision", "cost center": "a b"}),
        ("NOTIFY", "none 'command:sh -c true'", "notify", ("none", "command:sh -c true")),
    ],
)
def test_a_variable_is_what_its_flag_would_be(
    desk: Desk, name: str, text: str, field: str, value: object
):
    desk.set(**{f"LAUNCH_SAGEMAKER_{name}": text, f"LAUNCH_VERTEX_{name}": "not read here"})
    found = desk.given("--gpus", "1")
    assert getattr(found.job, field) == value
    assert found.job.origins[field] == f"LAUNCH_SAGEMAKER_{name}"
    assert found.warnings == ()


def test_a_backslash_in_a_repeatable_value_stays(desk: Desk):
    desk.set(LAUNCH_SAGEMAKER_METRIC=r"loss='loss: ([0-9\.]+)'", LAUNCH_LOCAL_CHANNEL=r"a=C:\data")
    assert desk.given().job.options.metrics == {"loss": r"loss: ([0-9\.]+)"}
    assert desk.given(name="local").job.options.channels == {"a": r"C:\data"}


def test_a_variable_that_is_set_to_nothing_is_not_set(desk: Desk):
    desk.set(LAUNCH_SAGEMAKER_ROLE="", LAUNCH_SAGEMAKER_INSTNACES="")
    found = desk.given()
    assert (found.job.options.role, found.warnings, found.read_from) == (None, (), "from flags")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("INSTANCES", "two", "a whole number"),
        ("SPOT", "maybe", "1 or 0"),
        ("ROLE", "me", "a role's ARN"),
        ("TAG", "'team=vision", "quotes in pairs"),
        ("SUBNET", "subnet-12345678, subnet-87654321", "a subnet's id"),
    ],
)
def test_a_wrong_value_is_told_with_the_variable(desk: Desk, name: str, text: str, expected: str):
    desk.set(**{f"LAUNCH_SAGEMAKER_{name}": text})
    with refused("flag-value", match=f"^LAUNCH_SAGEMAKER_{name}: .*{expected}"):
        desk.given()


def test_two_names_of_one_flag_with_two_values_are_refused(desk: Desk):
    desk.set(LAUNCH_SAGEMAKER_REGION="eu-west-1", LAUNCH_SAGEMAKER_LOCATION="us-east-1")
    with refused("variable-twice", match="LAUNCH_SAGEMAKER_REGION"):
        desk.given()
    desk.set(LAUNCH_SAGEMAKER_LOCATION="eu-west-1")
    assert desk.given().job.region == "eu-west-1"


def test_a_misspelt_variable_is_told_and_not_dropped_silently(desk: Desk):
    desk.set(LAUNCH_SAGEMAKER_INSTNACES="8")
    (warning,) = desk.given().warnings
    assert (warning.rule, warning.severity) == ("variable-unknown", "warning")
    assert "did you mean LAUNCH_SAGEMAKER_INSTANCES?" in str(warning)
    assert desk.given(name="local").warnings == ()


@pytest.mark.parametrize("name", ["AGAIN", "IGNORE_SDK", "ALLOW_VALUE", "SECRET", "ENV", "MODULE"])
def test_consent_secrets_and_what_runs_are_not_taken_from_the_environment(desk: Desk, name: str):
    desk.set(**{f"LAUNCH_SAGEMAKER_{name}": "A=env:B"})
    found = desk.given()
    (warning,) = found.warnings
    assert warning.rule == "variable-not-taken"
    assert f"LAUNCH_SAGEMAKER_{name}: set but ignored; expected" in str(warning)
    assert found.job == desk.given().job
    assert not found.job.secrets
    assert not found.job.allow_values


def test_a_dry_run_that_was_meant_is_no_job_that_is_sent(desk: Desk):
    desk.set(LAUNCH_SAGEMAKER_DRY_RUN="1")
    with refused("variable-not-taken", match="the job would be sent"):
        desk.given()


def test_a_credential_in_a_variable_is_refused_as_in_a_flag(launch: Launch):
    launch.write("train.py", "print(1)\n")
    key = "AKIA" + "Q3EGRTYU7PLMNBVC"
    answer = launch(
        "sagemaker", "train.py", "--gpus", "1", "--dry-run", LAUNCH_SAGEMAKER_TAG=f"x={key}"
    )
    assert answer.code == 2
    assert "[credential]" in answer.err
    assert key not in answer.err


def test_a_problem_of_the_plan_is_told_at_the_variable(launch: Launch):
    launch.write("train.py", "print(1)\n")
    answer = launch("sagemaker", "train.py", "--dry-run", LAUNCH_SAGEMAKER_MACHINE="ml.nosuch")
    assert answer.code == 2
    assert "error: LAUNCH_SAGEMAKER_MACHINE: ml.nosuch" in answer.err


def test_a_problem_of_the_plan_is_told_at_its_place_in_a_file(launch: Launch):
    launch.write("train.py", "print(1)\n")
    text = "machine: ml.nosuch\nsagemaker: {metrics: {loss: 'no group'}}\n"
    launch.write("launch.yaml", text)
    answer = launch("sagemaker", "train.py", "--dry-run")
    assert answer.code == 2
    assert "error: launch.yaml: machine: ml.nosuch" in answer.err
    assert "error: launch.yaml: sagemaker.metrics.loss:" in answer.err


@pytest.mark.processes
def test_ranks_and_what_they_start_do_not_inherit_what_was_asked_of_their_job(
    launch: Launch,
):
    launch.write(
        "train.py",
        "import os\nprint([name for name in os.environ if name.startswith(('LAUNCH_LOCAL_',"
        " 'LAUNCH_PROFILE', 'LAUNCH_CONFIG'))], 'inherited')\n",
    )
    launch.write("launch.yaml", "profiles: {small: {instances: 1}}\n")
    variables = {"LAUNCH_LOCAL_PROCESSES": "1", "LAUNCH_PROFILE": "small"}
    answer = launch("local", "train.py", **variables)
    assert answer.code == 0, answer.err
    assert "[] inherited" in answer.out
    assert "profile small, LAUNCH_LOCAL_PROCESSES and flags" in answer.err

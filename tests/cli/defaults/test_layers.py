"""Profiles, the user's defaults, which of all layers wins, and where the plan says it came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.pipeline import prepare
from launchers.core.planning.plan import Row
from launchers.core.reading.job_file import schema
from launchers.core.reading.profiles import profile_names
from launchers.core.registry import provider
from tests.cli.command import Launch
from tests.cli.defaults.given import Desk
from tests.refusals import refused

ROLE = "arn:aws:iam::111122223333:role/{}"
FILE = f"""\
instances: 2
env: {{A: '1', B: '2'}}
args: {{lr: 0.10, epochs: 3}}
sagemaker: {{role: "{ROLE.format("File")}", keep_alive: 30m}}
profiles:
  prod:
    instances: 4
    env: {{B: 1.50}}
    args: {{epochs: 90}}
    sagemaker: {{role: "{ROLE.format("Prod")}"}}
  dev: {{spot: true, max_wait: 2d}}
  empty:
"""


def test_each_layer_wins_over_those_below(desk: Desk):
    seen = []
    for step in (
        lambda: desk.defaults("instances: 2\n"),
        lambda: desk.file("instances: 3\nprofiles: {prod: {instances: 4}}\n"),
        lambda: desk.set(LAUNCH_PROFILE="prod"),
        lambda: desk.set(LAUNCH_SAGEMAKER_INSTANCES="5"),
    ):
        step()
        job = desk.given().job
        seen.append((job.instances, job.origins["instances"]))
    job = desk.given("--instances", "6").job
    assert (job.instances, job.origins["instances"]) == (6, "--instances")
    assert seen == [
        (2, str(desk.config / "defaults.yaml")),
        (3, "launch.yaml"),
        (4, "launch.yaml, profile prod"),
        (5, "LAUNCH_SAGEMAKER_INSTANCES"),
    ]


def test_a_profile_lies_over_the_file_and_its_mappings_are_merged(desk: Desk):
    desk.file(FILE)
    found = desk.given("-p", "prod", "--env", "C=3")
    job = found.job
    assert job.environment == {"A": "1", "B": "1.50", "C": "3"}
    assert job.arguments == ("--lr", "0.10", "--epochs", "90")
    assert (job.options.role, job.options.keep_alive) == (ROLE.format("Prod"), 1800)
    assert job.origins["role"] == "launch.yaml, profile prod"
    assert job.origins["keep_alive"] == "launch.yaml"
    assert job.origins["environment"] == "launch.yaml and launch.yaml, profile prod and --env"
    assert found.read_from == "from launch.yaml, profile prod and flags"
    assert desk.given().job.instances == desk.given("-p", "").job.instances == 2
    assert desk.given("-p", "empty").job.arguments == desk.given().job.arguments


def test_of_script_and_module_the_upper_layer_has_one(desk: Desk):
    desk.file("script: train.py\nprofiles: {other: {module: trainer.task}}\n")
    assert (desk.given().job.script, desk.given().job.module) == ("train.py", None)
    job = desk.given("-p", "other").job
    assert (job.script, job.module) == (None, "trainer.task")
    assert (desk.given("x.py", "-p", "other").job.module, job.origins.get("script")) == (None, None)


def test_a_profile_lies_below_the_entries_of_a_sweep(desk: Desk):
    desk.file(FILE + "sweep: {matrix: {args.lr: [0.10, 0.20], instances: [8]}}\n")
    found = desk.given("-p", "prod")
    assert [job.arguments for job in found.sweep] == [
        ("--lr", "0.10", "--epochs", "90"),
        ("--lr", "0.20", "--epochs", "90"),
    ]
    assert {job.instances for job in found.sweep} == {8}
    origins = found.sweep[1].origins
    assert origins["instances"] == origins["arguments"] == "launch.yaml, sweep"
    assert origins["role"] == "launch.yaml, profile prod"


@pytest.mark.parametrize(
    ("text", "words", "variable", "match"),
    [
        (
            FILE,
            ("-p", "prdo"),
            "",
            r"--profile: prdo; expected .*prod, dev, empty.*did you mean prod",
        ),
        (FILE, (), "prdo", r"LAUNCH_PROFILE: prdo"),
        ("instances: 2\n", ("-p", "prod"), "", "which has none"),
        ("", ("-p", "prod"), "", "no launch.yaml is read"),
        (FILE, ("-p", "prod", "--no-file"), "", "no launch.yaml is read"),
    ],
)
def test_a_profile_that_is_not_there_is_an_error(
    desk: Desk, text: str, words: tuple[str, ...], variable: str, match: str
):
    if text:
        desk.file(text)
    desk.set(LAUNCH_PROFILE=variable)
    with refused("profile-unknown", match=match):
        desk.given(*words)


@pytest.mark.parametrize(
    ("profile", "place", "hint"),
    [
        ("{instnces: 2}", "launch.yaml:3: profiles.prod.instnces", "did you mean instances?"),
        (
            "{sagemaker: {rol: x}}",
            "launch.yaml:3: profiles.prod.sagemaker.rol",
            "did you mean role?",
        ),
        ("{role: x}", "profiles.prod.role", "`role:` belongs under `sagemaker:`"),
        ("{sagemaker: {instances: 2}}", "profiles.prod.sagemaker.instances", "belongs at the top"),
        ("{sweep: {}}", "profiles.prod.sweep", "unknown key"),
        ("{instances: two}", "profiles.prod.instances", "a whole number"),
        ("[a]", "profiles.prod", "a mapping of names"),
    ],
)
def test_a_mistake_in_any_profile_is_told_with_its_place(
    desk: Desk, profile: str, place: str, hint: str
):
    desk.file(f"instances: 2\nprofiles:\n  prod: {profile}\n  dev: {{}}\n")
    with pytest.raises(LaunchError) as caught:
        desk.given("-p", "dev")
    assert place in str(caught.value)
    assert hint in str(caught.value)


def test_defaults_are_the_users_for_every_job_but_with_no_defaults(desk: Desk):
    desk.defaults(
        "tags: {team: vision}\nsagemaker: {keep_alive: 10m}\nvertex: {web_access: true}\n"
    )
    desk.file("tags: {cost: '3'}\n")
    found = desk.given()
    assert found.job.tags == {"team": "vision", "cost": "3"}
    assert found.job.options.keep_alive == 600
    assert found.read_from == f"from {desk.config / 'defaults.yaml'}, launch.yaml and flags"
    without = desk.given("--no-defaults", "--no-file")
    assert (without.job.tags, without.read_from) == ({}, "from flags")


@pytest.mark.parametrize(
    ("text", "rule", "match"),
    [
        ("script: train.py\n", "defaults-key", "defaults.yaml:1: script"),
        ("profiles: {}\n", "defaults-key", "launch.yaml"),
        ("instnces: 2\n", "file-key-unknown", "did you mean instances"),
        ("a: [\n", "file-yaml", "defaults.yaml"),
        ("sagemaker: {role: me}\n", "file-value", "defaults.yaml:1: sagemaker.role"),
    ],
)
def test_a_broken_defaults_file_is_one_clear_error_with_its_path(
    desk: Desk, text: str, rule: str, match: str
):
    path = desk.defaults(text)
    with refused(rule, match=match) as caught:
        desk.given()
    assert str(path) in str(caught.value)
    assert len(caught.value.problems) == 1
    desk.given("--no-defaults")


def test_a_link_that_leads_nowhere_is_no_absent_file(desk: Desk):
    desk.config.mkdir()
    (desk.config / "defaults.yaml").symlink_to(desk.config / "gone")
    with refused("file-unreadable", match="--no-defaults"):
        desk.given()


@pytest.mark.parametrize(
    ("text", "mode", "found"),
    [
        ("instances: 2\n", 0o644, 0),
        ("instances: 2\n", 0o666, 1),
        ("notify: https://hooks.slack.com/services/T/B/x\n", 0o644, 1),
        ("notify: https://hooks.slack.com/services/T/B/x\n", 0o600, 0),
    ],
)
def test_defaults_that_others_may_write_or_that_hold_a_secret_they_may_read_are_told(
    desk: Desk, text: str, mode: int, found: int
):
    desk.defaults(text, mode)
    warnings = desk.given().warnings
    assert [one.rule for one in warnings] == ["defaults-permissions"] * found
    assert "services" not in str(warnings)


def rows(desk: Desk, *words: str) -> dict[str, Row]:
    """The plan's rows by label."""
    (desk.folder / "train.py").write_text("print(1)\n")
    plan = prepare(provider("sagemaker"), desk.given("train.py", *words).job).plan
    return {row.label: row for row in plan.rows}


def test_the_plan_says_where_each_value_came_from(desk: Desk):
    own = str(desk.defaults("notify: desktop\nregion: eu-west-1\n"))
    desk.file(
        "name: mine\nmax_runtime: 2h\nsagemaker: {volume_size: 100}\n"
        f"profiles: {{prod: {{sagemaker: {{role: '{ROLE.format('Prod')}'}}, args: [--lr, '1']}}}}\n"
    )
    desk.set(LAUNCH_SAGEMAKER_BUCKET="b-1-2", LAUNCH_SAGEMAKER_TAG="a=b")
    found = rows(desk, "-p", "prod", "--gpus", "1", "--keep-alive", "30m")
    assert {label: row.origin for label, row in found.items()}.items() >= {
        "name": "launch.yaml",
        "ranks": "default",
        "proof": "default",
        "arguments": "launch.yaml, profile prod",
        "region": own,
        "role": "launch.yaml, profile prod",
        "bucket": "LAUNCH_SAGEMAKER_BUCKET",
        "warm pool": "--keep-alive",
        "disk": "launch.yaml",
        "tags": "LAUNCH_SAGEMAKER_TAG",
        "time limit": "launch.yaml",
        "notify": own,
    }.items()
    assert found["machine"].origin.startswith("default for 1 GPU")


def test_the_same_values_make_the_same_bytes_wherever_they_stand(desk: Desk):
    (desk.folder / "train.py").write_text("import torch.distributed\n")
    role = ROLE.format("Same")
    asked = {
        "instances": "1",
        "gpus": "1",
        "role": role,
        "tag": "team=vision",
        "spot": "",
        "max-wait": "2d",
        "max-runtime": "1d",
        "region": "eu-west-1",
        "bucket": "b-1-2",
    }
    flags = [word for name, value in asked.items() for word in (f"--{name}", value) if word]
    keys = (
        "instances: 1\ngpus: 1\ntags: {team: vision}\nspot: true\nmax_wait: 2d\nmax_runtime: 1d\n"
        f"region: eu-west-1\nbucket: b-1-2\nsagemaker: {{role: '{role}'}}\n"
    )

    def bytes_of(*words: str) -> str:
        return prepare(provider("sagemaker"), desk.given("train.py", *words).job).definition.text

    by_flags = bytes_of(*flags)
    assert json.loads(by_flags)["RoleArn"] == role
    own = desk.defaults(keys)
    by_defaults = bytes_of()
    own.unlink()
    # Beside the source, where a file of any content is a part of it.
    project = desk.file(keys, "../launch.yaml")
    by_file = bytes_of("-f", str(project))
    inner = "".join(f"    {line}\n" for line in keys.splitlines())
    project = desk.file(f"instances: 7\nprofiles:\n  prod:\n{inner}", "../launch.yaml")
    by_profile = bytes_of("-f", str(project), "-p", "prod")
    variables = {name.upper().replace("-", "_"): value or "1" for name, value in asked.items()}
    desk.set(**{f"LAUNCH_SAGEMAKER_{name}": value for name, value in variables.items()})
    by_variables = bytes_of()
    assert by_flags == by_defaults == by_file == by_profile == by_variables


def test_the_schema_knows_profiles_and_refers_to_every_key_but_sweep():
    found = schema()["properties"]
    inner = found["profiles"]["additionalProperties"]
    assert inner["additionalProperties"] is False
    assert inner["properties"]["sagemaker"] == {"$ref": "#/properties/sagemaker"}
    assert {*found} - {*inner["properties"]} == {"sweep", "profiles"}


def test_the_names_of_profiles_are_read_without_a_parser(tmp_path: Path):
    path = tmp_path / "launch.yaml"
    path.write_text(FILE + "\n  # more\n  'quoted': {}\nscript: x.py\nlocal:\n  port: 1\n")
    assert profile_names(path) == ["prod", "dev", "empty", "quoted"]
    assert profile_names(tmp_path / "none.yaml") == []


def test_a_project_with_profiles_and_defaults_is_told_in_the_first_line(launch: Launch):
    launch.write("train.py", "print(1)\n")
    launch.write("launch.yaml", "profiles: {prod: {gpus: 1}}\n")
    config = launch.home / "config"
    config.mkdir()
    (config / "defaults.yaml").write_text("region: eu-west-1\n")
    answer = launch(
        "sagemaker",
        "train.py",
        "-p",
        "prod",
        "--dry-run",
        LAUNCH_CONFIG_DIR=str(config),
        LAUNCH_SAGEMAKER_BUCKET="b-1-2",
    )
    assert answer.code == 0, answer.err
    first = next(line for line in answer.err.splitlines() if line.startswith("plan"))
    assert first.endswith("launch.yaml, profile prod, LAUNCH_SAGEMAKER_BUCKET and flags")
    assert "(launch.yaml, profile prod, default for 1 GPU" in answer.err

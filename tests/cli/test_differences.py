"""`launch sagemaker` and `launch vertex` say what makes a job another than the last."""

from __future__ import annotations

import pytest

from launchers.core.earlier import note_command
from launchers.core.pipeline import prepare
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.registry import provider
from launchers.core.spec.job import JobSpec
from tests.cli.command import Answer, Launch

SCRIPT = "import horovod.torch as hvd\nhvd.init()\n"
FILE = "script: train.py\nregion: {}\ngpus: 1\ninstances: {}\nenv:\n  SEED: '{}'\n  API_TOKEN: {}\n"
REGIONS = {"sagemaker": "us-east-1", "vertex": "us-central1"}
SECRETS = ("hunter2-correct-horse", "battery-staple-4711")


@pytest.fixture
def project(launch: Launch) -> Launch:
    launch.write("train.py", SCRIPT)
    return launch


def asked(
    launch: Launch, name: str, instances: int = 1, seed: int = 1, token: str = SECRETS[0]
) -> Answer:
    launch.write("launch.yaml", FILE.format(REGIONS[name], instances, seed, token))
    return launch(name, "--dry-run", "--allow-value", "API_TOKEN")


def sent(launch: Launch, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger as a submission of the file leaves it."""
    from launchers.cli.options import given_job

    with monkeypatch.context() as patched:
        patched.chdir(launch.folder)
        patched.setenv("LAUNCH_HOME", str(launch.home))
        chosen = provider(name)
        given = {"words": (), "file": None, "no_file": False, "allow_values": ("API_TOKEN",)}
        job: JobSpec = given_job(chosen, given, None, []).job
        prepared = prepare(chosen, job)
        definition = prepared.definition
        entry = Entry(definition.name, name, prepared.run.base, 1, 1, definition.text, "failed")
        Ledger().add(entry)
        note_command(chosen, prepared.plan, entry)


def differences(answer: Answer) -> list[str]:
    assert answer.code == 0, answer.err
    lines = answer.err.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("  differs ")]
    if not starts:
        return []
    rows = lines[starts[0] :]
    width = len(rows[0]) - len(rows[0].removeprefix("  differs").lstrip())
    rest = [row for row in rows[1:] if row.startswith(" " * width)]
    return [rows[0][width:], *(row[width:] for row in rest)]


@pytest.mark.parametrize("name", REGIONS)
def test_a_dry_run_says_what_differs_from_the_last_job(
    project: Launch, name: str, monkeypatch: pytest.MonkeyPatch
):
    first = asked(project, name)
    assert differences(first) == []
    sent(project, name, monkeypatch)
    assert differences(asked(project, name)) == []

    project.write("lib/data.py", "")
    project.write("train.py", SCRIPT + "print(1)\n")
    told = differences(asked(project, name))
    assert told[0].startswith("from train-")
    assert told[0].endswith("-1, the last job of this command")
    assert told[1:] == ["changed: train.py", "added: lib/data.py"]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        (
            "sagemaker",
            ["$.ResourceConfig.InstanceCount: 2, was 1", "$.Environment.SEED: '2', was '1'"],
        ),
        (
            "vertex",
            [
                "$.jobSpec.workerPoolSpecs: 2 items, was 1",
                "$.jobSpec.workerPoolSpecs[0].containerSpec.env.SEED.value: '2', was '1'",
            ],
        ),
    ],
)
def test_a_changed_launch_yaml_is_told_by_the_fields_that_follow(
    project: Launch, name: str, places: list[str], monkeypatch: pytest.MonkeyPatch
):
    asked(project, name)
    sent(project, name, monkeypatch)
    told = differences(asked(project, name, instances=2, seed=2))
    assert "changed: launch.yaml" in told
    for place in places:
        assert place in told


@pytest.mark.parametrize("name", REGIONS)
def test_a_credential_that_was_let_pass_is_not_shown(
    project: Launch, name: str, monkeypatch: pytest.MonkeyPatch
):
    asked(project, name)
    sent(project, name, monkeypatch)
    answer = asked(project, name, token=SECRETS[1])
    (line,) = (line for line in differences(answer) if "API_TOKEN" in line)
    assert line.endswith("another value, which is not shown")
    assert not any(secret in answer.err for secret in SECRETS)

"""Credentials reach nothing that a job leaves anywhere, nor what lies about while it is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Answer, Launch
from tests.fakes.faults import HANDLED, Call
from tests.fakes.job_scenarios import Scenario
from tests.sagemaker.service.submitting import Bench, bench, proven_job
from tests.scanning import PASSWORD, SECRET_KEY, TOKEN, Scan, plant, submit, watched

REFERENCE = "arn:aws:secretsmanager:us-east-1:111122223333:secret:team/wandb-AbCdEf"


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def scan(tried: Bench, tmp_path: Path) -> Scan:
    return watched(tried, tmp_path / "scratch")


def test_the_scan_finds_what_is_there(scan: Scan):
    """What is no secret is seen in every artefact: on the way, in the bundle and at the end."""
    answer = submit(scan, "--env", "PLAIN=a-plain-value-of-mine")
    assert answer.code == 0, answer.err
    leaks = scan.leaks(answer, "a-plain-value-of-mine")
    assert {"CreateTrainingJob body", str(scan.tried.launch.home / "ledger.db")} <= leaks
    bundles = scan.leaks(answer, "import horovod.tensorflow as hvd")
    assert any(name.endswith("sourcedir.tar.gz unpacked") for name in bundles)
    assert any(name.startswith(str(scan.places[2])) for name in bundles), "the temporary archive"


@pytest.mark.parametrize("outcome", ["Completed", "Failed"])
def test_the_callers_own_credentials(scan: Scan, outcome: str):
    aws = scan.tried.aws
    aws.jobs.scenario = proven_job(outcome=outcome, reason="AlgorithmError")
    identity = aws.account.add_session("Laptop", "someone")
    answer = submit(scan, TOKEN=TOKEN, **identity.environment)
    assert answer.code == (0 if outcome == "Completed" else 1), answer.err
    assert identity.token
    assert scan.leaks(answer, identity.secret_key, identity.token, TOKEN) == set()


def test_credentials_of_a_profile_file(scan: Scan, tmp_path: Path):
    identity = scan.tried.aws.account.user
    file = tmp_path / "credentials"
    file.write_text(
        f"[work]\naws_access_key_id = {identity.access_key}\n"
        f"aws_secret_access_key = {identity.secret_key}\n"
    )
    empty = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "")
    where = {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "work"}
    config = tmp_path / "config"
    config.write_text("[profile work]\nregion = us-east-1\n")
    answer = submit(scan, **empty, **where, AWS_CONFIG_FILE=str(config))
    assert answer.code == 0, answer.err
    assert scan.leaks(answer, identity.secret_key) == set()


def test_the_value_of_a_secret_that_travels_by_reference(scan: Scan):
    answer = submit(scan, "--secret", f"WANDB_API_KEY={REFERENCE}", WANDB_API_KEY=PASSWORD)
    assert answer.code == 0, answer.err
    assert scan.leaks(answer, PASSWORD) == set()


REFUSED: dict[str, tuple[str, ...]] = {
    "a variable": ("--env", f"AWS_SECRET_ACCESS_KEY={SECRET_KEY}"),
    "a variable of an innocent name": ("--env", f"BUILD={TOKEN}"),
    "a secret that is its own value": ("--secret", f"TOKEN={PASSWORD}"),
    "a tag": ("--tag", f"token={TOKEN}"),
    "an argument": ("--", "--password", PASSWORD),
    "an argument in one word": ("--", f"--api-key={PASSWORD}"),
    "an argument without a name": ("--", TOKEN),
    "an address with a password": ("--", f"--db=postgres://me:{PASSWORD}@host/db"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_looks_like_a_credential_in_the_request(scan: Scan, name: str):
    answer = submit(scan, *REFUSED[name])
    assert answer.code == 2, answer.err
    assert scan.leaks(answer, SECRET_KEY, TOKEN, PASSWORD) == set()
    assert not scan.tried.aws.received("CreateTrainingJob")


def test_a_file_of_the_source_that_holds_one(scan: Scan):
    plant(scan, "settings.py", f'TOKEN = "{TOKEN}"\n')
    answer = submit(scan)
    assert answer.code == 2
    assert "settings.py:1" in answer.err
    assert scan.leaks(answer, TOKEN) == set()
    assert not scan.tried.aws.received("PutObject")


def test_files_that_never_travel(scan: Scan):
    plant(scan, ".env", f"AWS_SECRET_ACCESS_KEY={SECRET_KEY}\n")
    plant(scan, ".aws/credentials", f"[default]\naws_secret_access_key = {SECRET_KEY}\n")
    plant(scan, ".git/config", f'[remote "origin"]\n  url = https://me:{TOKEN}@host/x\n')
    plant(scan, "notes.txt", f"{TOKEN}\n")
    scan.tried.launch.write(".launchignore", "notes.txt\n")
    answer = submit(scan)
    assert answer.code == 0, answer.err
    assert scan.leaks(answer, SECRET_KEY, TOKEN) == set()


def test_a_launch_yaml_that_holds_one(scan: Scan):
    plant(scan, "job.yaml", f"script: train.py\nenv: {{BUILD: {TOKEN}}}\n")
    answer = submit(scan, "-f", "job.yaml")
    assert answer.code == 2
    assert scan.leaks(answer, TOKEN) == set()


def test_a_submission_that_is_killed_leaves_none(scan: Scan):
    aws, identity = scan.tried.aws, scan.tried.aws.account.user
    aws.jobs.scenario = Scenario()
    process = None
    scratch = {"TMPDIR": str(scan.places[2])}
    aws.faults.add(Call(lambda _: process and process.kill()), "PutObject", times=1)
    process = scan.tried.launch.start(
        *scan.tried.words("--secret", f"TOKEN={REFERENCE}"),
        **scan.tried.environment(TOKEN=PASSWORD, **scratch),
    )
    out, err = process.communicate(timeout=60)
    assert process.returncode == -9
    assert any(scan.places[2].rglob("sourcedir.tar.gz")), "what a kill leaves behind"
    answer = Answer(process.returncode, out, err)
    assert scan.leaks(answer, identity.secret_key, PASSWORD) == set()


def test_what_others_could_read_is_the_users_alone(scan: Scan):
    modes: dict[Path, int] = {}

    def note(_: object) -> None:
        for place in (scan.places[0], scan.places[2]):
            for path in place.iterdir():
                modes[path] = path.stat().st_mode & 0o077

    scan.tried.aws.faults.add(Call(note), point=HANDLED)
    old = os.umask(0o022)
    try:
        assert submit(scan).code == 0
    finally:
        os.umask(old)
    assert modes
    assert {path.name for path, mode in modes.items() if mode} <= {"ledger.db-journal"}

"""Credentials reach nothing that a job leaves anywhere, nor what lies about while it is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.clouds.artefacts import Artefacts
from tests.fakes.faults import HANDLED, Call
from tests.sagemaker.service.submitting import Bench, bench, proven_job
from tests.scanning import PASSWORD, SECRET_KEY, TOKEN, Scan, plant, submit, watched

REFERENCE = "arn:aws:secretsmanager:us-east-1:111122223333:secret:team/wandb-AbCdEf"


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def scan(tried: Bench, tmp_path: Path) -> Scan:
    return watched(tried, tmp_path / "scratch")


class TestArtefacts(Artefacts):
    """See there."""

    def test_a_tag_that_looks_like_one(self, scan: Scan):
        self.refuses(scan, "--tag", f"token={TOKEN}")


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

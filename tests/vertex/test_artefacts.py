"""Credentials reach nothing that a CustomJob leaves anywhere, nor what lies about meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Answer, Launch
from tests.fakes.faults import Call
from tests.fakes.google_scenarios import VertexScenario
from tests.scanning import PASSWORD, SECRET_KEY, TOKEN, Scan, plant, submit, watched
from tests.vertex.service.submitting import Bench, bench, proven_job


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def scan(tried: Bench, tmp_path: Path) -> Scan:
    return watched(tried, tmp_path / "scratch")


def own_secrets(scan: Scan) -> list[str]:
    """What the caller's credentials are made of: the key's lines, and every token."""
    google = scan.tried.service
    key = json.loads(google.credentials_file.read_text())["private_key"].splitlines()[1:-1]
    tokens = [one.headers["Authorization"] or "" for one in google.requests]
    given = {token.removeprefix("Bearer ") for token in tokens if token}
    assert given
    return [*key[:-1], *given]


def test_the_scan_finds_what_is_there(scan: Scan):
    """What is no secret is seen in every artefact: on the way, in the bundle and at the end."""
    answer = submit(scan, "--env", "PLAIN=a-plain-value-of-mine")
    assert answer.code == 0, answer.err
    leaks = scan.leaks(answer, "a-plain-value-of-mine")
    assert {"customJobs.create body", str(scan.tried.launch.home / "ledger.db")} <= leaks
    bundles = scan.leaks(answer, "import horovod.tensorflow as hvd")
    assert any(name.endswith("sourcedir.tar.gz unpacked") for name in bundles)
    assert any(name.startswith(str(scan.places[2])) for name in bundles), "the temporary archive"


@pytest.mark.parametrize("outcome", ["SUCCEEDED", "FAILED"])
def test_the_callers_own_credentials(scan: Scan, outcome: str):
    scan.tried.service.jobs.scenario = proven_job(outcome=outcome, reason="it broke")
    answer = submit(scan, TOKEN=TOKEN)
    assert answer.code == (0 if outcome == "SUCCEEDED" else 1), answer.err
    assert scan.leaks(answer, *own_secrets(scan), TOKEN) == set()


def test_credentials_that_a_service_refuses(scan: Scan):
    scan.tried.service.tokens.refusal = ("invalid_grant", "Invalid JWT Signature.")
    answer = submit(scan)
    assert answer.code == 4
    key = json.loads(scan.tried.service.credentials_file.read_text())["private_key"]
    assert scan.leaks(answer, *key.splitlines()[1:-2]) == set()


def test_the_value_of_a_secret_that_travels_by_reference(scan: Scan):
    google = scan.tried.service
    reference = google.account.add_secret("wandb", PASSWORD)
    answer = submit(scan, "--secret", f"WANDB_API_KEY={reference}", WANDB_API_KEY=PASSWORD)
    assert answer.code == 0, answer.err
    assert scan.leaks(answer, PASSWORD) == set()
    (job,) = google.jobs
    for pool in job.document["jobSpec"]["workerPoolSpecs"]:
        variables = {one["name"]: one["value"] for one in pool["containerSpec"]["env"]}
        assert json.loads(variables["LAUNCH_SECRETS"]) == {"WANDB_API_KEY": reference}
        assert "WANDB_API_KEY" not in variables
    assert not google.received("versions.access"), "only a replica reads it"


@pytest.mark.parametrize("reference", ["env:TOKEN", "file:/etc/token", PASSWORD])
def test_the_service_takes_references_that_a_replica_can_read(scan: Scan, reference: str):
    answer = submit(scan, "--secret", f"TOKEN={reference}")
    assert answer.code == 2
    assert "projects/PROJECT/secrets/NAME/versions/VERSION" in answer.err
    assert scan.leaks(answer, PASSWORD) == set()


REFUSED: dict[str, tuple[str, ...]] = {
    "a variable": ("--env", f"AWS_SECRET_ACCESS_KEY={SECRET_KEY}"),
    "a variable of an innocent name": ("--env", f"BUILD={TOKEN}"),
    "a label": ("--tag", f"build={TOKEN.lower()}"),
    "a label of a name that tells": ("--tag", f"password={PASSWORD}"),
    "an argument": ("--", "--password", PASSWORD),
    "an argument in one word": ("--", f"--api-key={PASSWORD}"),
    "an argument without a name": ("--", TOKEN),
    "an address with a password": ("--", f"--db=postgres://me:{PASSWORD}@host/db"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_looks_like_a_credential_in_the_request(scan: Scan, name: str):
    answer = submit(scan, *REFUSED[name])
    assert answer.code == 2, answer.err
    assert scan.leaks(answer, SECRET_KEY, TOKEN, TOKEN.lower(), PASSWORD) == set()
    assert not scan.tried.service.received("customJobs.create")


def test_a_file_of_the_source_that_holds_one(scan: Scan):
    plant(scan, "settings.py", f'TOKEN = "{TOKEN}"\n')
    answer = submit(scan)
    assert answer.code == 2
    assert "settings.py:1" in answer.err
    assert scan.leaks(answer, TOKEN) == set()
    assert not scan.tried.service.received("objects.insert")


def test_a_key_file_in_the_source_never_travels(scan: Scan):
    content = scan.tried.service.credentials_file.read_text()
    plant(scan, "service-account.json", content)
    plant(scan, ".config/gcloud/application_default_credentials.json", content)
    answer = submit(scan)
    assert answer.code == 0, answer.err
    key = json.loads(content)["private_key"].splitlines()[1]
    assert scan.leaks(answer, key) == set()


def test_a_submission_that_is_killed_leaves_none(scan: Scan):
    google = scan.tried.service
    google.jobs.scenario = VertexScenario()
    reference = google.account.add_secret("wandb", PASSWORD)
    process = None
    google.faults.add(Call(lambda _: process and process.kill()), "objects.insert", times=1)
    process = scan.tried.launch.start(
        *scan.tried.words("--secret", f"TOKEN={reference}"),
        **scan.tried.environment(TOKEN=PASSWORD, TMPDIR=str(scan.places[2])),
    )
    out, err = process.communicate(timeout=60)
    assert process.returncode == -9
    assert any(scan.places[2].rglob("sourcedir.tar.gz")), "what a kill leaves behind"
    assert scan.leaks(Answer(-9, out, err), *own_secrets(scan), PASSWORD) == set()

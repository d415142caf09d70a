"""Credentials reach nothing that a CustomJob leaves anywhere, nor what lies about meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.clouds.artefacts import Artefacts
from tests.scanning import PASSWORD, TOKEN, Scan, plant, submit, watched
from tests.vertex.service.submitting import Bench, bench, proven_job


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def scan(tried: Bench, tmp_path: Path) -> Scan:
    return watched(tried, tmp_path / "scratch")


class TestArtefacts(Artefacts):
    """See there."""

    def test_a_tag_that_looks_like_one(self, scan: Scan):
        self.refuses(scan, "--tag", f"build={TOKEN.lower()}")


@pytest.mark.parametrize("outcome", ["SUCCEEDED", "FAILED"])
def test_the_callers_own_credentials(scan: Scan, outcome: str):
    scan.tried.service.jobs.scenario = proven_job(outcome=outcome, reason="it broke")
    answer = submit(scan, TOKEN=TOKEN)
    assert answer.code == (0 if outcome == "SUCCEEDED" else 1), answer.err
    assert scan.leaks(answer, *scan.tried.own_secrets(), TOKEN) == set()


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


def test_a_key_file_in_the_source_never_travels(scan: Scan):
    content = scan.tried.service.credentials_file.read_text()
    plant(scan, "service-account.json", content)
    plant(scan, ".config/gcloud/application_default_credentials.json", content)
    answer = submit(scan)
    assert answer.code == 0, answer.err
    key = json.loads(content)["private_key"].splitlines()[1]
    assert scan.leaks(answer, key) == set()

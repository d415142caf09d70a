"""Credentials reach nothing that a job leaves anywhere, nor what lies about while it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Answer
from tests.fakes.faults import Call
from tests.scanning import PASSWORD, SECRET_KEY, TOKEN, Scan, plant, submit, watched
from tests.submitting import AnyBench

REFUSED: dict[str, tuple[str, ...]] = {
    "a variable": ("--env", f"AWS_SECRET_ACCESS_KEY={SECRET_KEY}"),
    "a variable of an innocent name": ("--env", f"BUILD={TOKEN}"),
    "a tag of a name that tells": ("--tag", f"password={PASSWORD}"),
    "a secret that is its own value": ("--secret", f"TOKEN={PASSWORD}"),
    "an argument": ("--", "--password", PASSWORD),
    "an argument in one word": ("--", f"--api-key={PASSWORD}"),
    "an argument without a name": ("--", TOKEN),
    "an address with a password": ("--", f"--db=postgres://me:{PASSWORD}@host/db"),
}


class Artefacts:
    """Everything that a submission writes, sends or prints is scanned."""

    @pytest.fixture
    def scan(self, tried: AnyBench, tmp_path: Path) -> Scan:
        return watched(tried, tmp_path / "scratch")

    def refuses(self, scan: Scan, *words: str) -> None:
        """What looks like a credential in the request is refused, and shown nowhere."""
        answer = submit(scan, *words)
        assert answer.code == 2, answer.err
        assert scan.leaks(answer, SECRET_KEY, TOKEN, TOKEN.lower(), PASSWORD) == set()
        assert not scan.tried.service.received(scan.tried.CREATE)

    def test_the_scan_finds_what_is_there(self, scan: Scan, tried: AnyBench):
        """What is no secret is seen in every artefact: on the way, in the bundle, at the end."""
        answer = submit(scan, "--env", "PLAIN=a-plain-value-of-mine")
        assert answer.code == 0, answer.err
        leaks = scan.leaks(answer, "a-plain-value-of-mine")
        assert {f"{tried.CREATE} body", str(tried.launch.home / "ledger.db")} <= leaks
        bundles = scan.leaks(answer, "import horovod.tensorflow as hvd")
        assert any(name.endswith("sourcedir.tar.gz unpacked") for name in bundles)
        assert any(name.startswith(str(scan.places[2])) for name in bundles), "the archive"

    @pytest.mark.parametrize("name", REFUSED)
    def test_what_looks_like_a_credential_in_the_request(self, scan: Scan, name: str):
        self.refuses(scan, *REFUSED[name])

    def test_a_file_of_the_source_that_holds_one(self, scan: Scan, tried: AnyBench):
        plant(scan, "settings.py", f'TOKEN = "{TOKEN}"\n')
        answer = submit(scan)
        assert answer.code == 2
        assert "settings.py:1" in answer.err
        assert scan.leaks(answer, TOKEN) == set()
        assert not tried.service.received(tried.STORE)

    def test_a_submission_that_is_killed_leaves_none(self, scan: Scan, tried: AnyBench):
        reference = tried.secret_reference(PASSWORD)
        process = None
        tried.service.faults.add(Call(lambda _: process and process.kill()), tried.STORE, times=1)
        process = tried.launch.start(
            *tried.words("--secret", f"TOKEN={reference}"),
            **tried.environment(TOKEN=PASSWORD, TMPDIR=str(scan.places[2])),
        )
        out, err = process.communicate(timeout=60)
        assert process.returncode == -9
        assert any(scan.places[2].rglob("sourcedir.tar.gz")), "what a kill leaves behind"
        answer = Answer(process.returncode, out, err)
        assert scan.leaks(answer, *tried.own_secrets(), PASSWORD) == set()

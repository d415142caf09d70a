"""A reference alone travels; its value reaches the rank and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.places import ROOT
from tests.sagemaker.service.submitting import Bench, bench, contents

VALUE = "the-value-that-nobody-sees"
ARN = "arn:aws:secretsmanager:us-east-1:111122223333:secret:team/wandb-AbCdEf"
SCRIPT = """\
import os, sys
print("length", len(os.environ["TOKEN"]))
print("value", os.environ["TOKEN"])
print("error", os.environ["TOKEN"], file=sys.stderr)
"""


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def store() -> Iterator[str]:
    """A Secrets Manager that knows one secret; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = asked["SecretId"] == ARN
            error = {"__type": "AccessDeniedException", "message": "not allowed"}
            answer = {"SecretString": json.dumps({"key": VALUE})} if known else error
            body = json.dumps(answer).encode()
            self.send_response(200 if known else 400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def guard(folder: Path, reference: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """One rank of world size 1, whose script prints its secret."""
    script = folder / "show.py"
    script.write_text(SCRIPT)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, str(ROOT / "entrypoints" / "guard.py"), script.name],
        env={
            **kept,
            "LAUNCH_WORLD_SIZE": "1",
            "LAUNCH_INSTANCES": "1",
            "LAUNCH_PROCESSES": "1",
            "LAUNCH_PIN_GPU": "none",
            "LAUNCH_SECRETS": json.dumps({"TOKEN": reference}),
            "LAUNCH_SOURCE_DIR": str(folder),
            "TMPDIR": str(folder),
            **environment,
        },
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )


def shown(done: subprocess.CompletedProcess[str]) -> None:
    """The rank had the value, and did not print it."""
    assert done.returncode == 0, done.stderr
    assert f"length {len(VALUE)}" in done.stdout
    assert "value ***" in done.stdout
    assert "error ***" in done.stderr
    assert VALUE not in done.stdout + done.stderr


@pytest.mark.processes
def test_a_rank_gets_the_value_of_an_environment_variable(tmp_path: Path):
    shown(guard(tmp_path, "env:MY_TOKEN", MY_TOKEN=VALUE))


def test_a_rank_gets_the_content_of_a_file(tmp_path: Path):
    (tmp_path / "token").write_text(VALUE + "\n")
    shown(guard(tmp_path, f"file:{tmp_path / 'token'}"))


@pytest.mark.processes
def test_a_rank_gets_the_value_from_secrets_manager(tmp_path: Path, store: str):
    credentials = {"AWS_ACCESS_KEY_ID": "made-up", "AWS_SECRET_ACCESS_KEY": "made-up"}
    shown(guard(tmp_path, f"{ARN}:key", AWS_ENDPOINT_URL=store, **credentials))


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("env:NOT_SET", "NOT_SET is not set"),
        ("file:/nowhere/token", "cannot be read"),
        (ARN.replace("wandb", "other"), "AccessDenied"),
        (f"{ARN}:nokey", "no JSON key"),
    ],
)
@pytest.mark.processes
def test_a_reference_without_a_value_ends_the_rank(
    tmp_path: Path, store: str, reference: str, words: str
):
    credentials = {"AWS_ACCESS_KEY_ID": "made-up", "AWS_SECRET_ACCESS_KEY": "made-up"}
    done = guard(tmp_path, reference, AWS_ENDPOINT_URL=store, **credentials)
    assert done.returncode == 1
    assert words in done.stdout + done.stderr
    assert "TOKEN" in done.stdout + done.stderr


def test_an_image_without_boto3_says_so(tmp_path: Path):
    hidden = tmp_path / "without"
    hidden.mkdir()
    (hidden / "boto3.py").write_text("raise ImportError('no boto3')\n")
    done = guard(tmp_path, ARN, PYTHONPATH=str(hidden))
    assert done.returncode == 1
    assert "this image has no boto3" in done.stdout + done.stderr


def test_the_reference_alone_travels(tried: Bench):
    answer = tried.submit("--secret", f"TOKEN={ARN}", TOKEN=VALUE)
    assert answer.code == 0, answer.err
    (job,) = tried.aws.jobs
    assert json.loads(job.document["Environment"]["LAUNCH_SECRETS"]) == {"TOKEN": ARN}
    sent = [one.body for one in tried.aws.requests]
    assert not [one for one in [*sent, *contents(tried.launch.home)] if VALUE.encode() in one]


@pytest.mark.parametrize("reference", ["env:TOKEN", "file:/etc/token", "the-value-itself"])
def test_a_cloud_takes_references_that_its_role_can_read(tried: Bench, reference: str):
    answer = tried.submit("--secret", f"TOKEN={reference}")
    assert answer.code == 2
    assert "secretsmanager" in answer.err
    assert "the-value-itself" not in answer.err


def test_local_ranks_get_values_by_reference(launch: Launch):
    (launch.folder / "show.py").write_text(SCRIPT)
    (launch.folder / "token").write_text(VALUE)
    answer = launch("local", "show.py", "--secret", "TOKEN=file:token", "--pin-gpu", "none")
    assert answer.code == 0, answer.err
    assert f"length {len(VALUE)}" in answer.out
    everything = [answer.out.encode(), answer.err.encode(), *contents(launch.home)]
    assert not [one for one in everything if VALUE.encode() in one]

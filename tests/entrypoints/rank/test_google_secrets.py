"""Secret Manager's references in a rank, against loopback servers for metadata and API."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from launch_runtime.rank.google_secrets import crc32c

from tests.entrypoints.simulated import clean_environment, free_port
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

VALUE = "the-välue-that-nobody-sees"
REFERENCE = "projects/my-project/secrets/wandb/versions/latest"
TOKEN = "a-token-of-the-metadata-server"
SCRIPT = """\
import os
print("length", len(os.environ["KEY"]))
print("value", os.environ["KEY"])
"""


@dataclass
class Google:
    """A metadata server and a Secret Manager with one secret, at one address."""

    data: bytes = VALUE.encode()
    checksum: int | None = None
    status: int = 200
    message: str = ""
    busy: int = 0  # answers 503 so many times first
    account: bool = True
    asked: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, object]:
        self.asked.append((path, headers.get("Authorization", "")))
        if path.startswith("/computeMetadata/"):
            if headers.get("Metadata-Flavor") != "Google" or not self.account:
                return 404, {}
            if path.endswith("/token"):
                return 200, {"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}
            return 200, {"email": "trainer@my-project.iam.gserviceaccount.com"}
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {"error": {"code": 401, "message": "no token"}}
        if self.busy:
            self.busy -= 1
            return 503, {"error": {"code": 503, "message": "busy"}}
        if self.status != 200:
            return self.status, {"error": {"code": self.status, "message": self.message}}
        payload = {"data": base64.b64encode(self.data).decode()}
        if self.checksum is not None:
            payload["dataCrc32c"] = str(self.checksum)
        return 200, {"name": REFERENCE, "payload": payload}


@pytest.fixture
def google() -> Iterator[Google]:
    cloud = Google()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = cloud.answer(self.path, dict(self.headers))
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    cloud.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield cloud
    server.shutdown()
    server.server_close()


def guard(
    folder: Path, google: Google, reference: str = REFERENCE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """One rank of world size 1, whose script prints its secret."""
    (folder / "show.py").write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), "show.py"],
        env={
            **clean_environment(),
            "LAUNCH_WORLD_SIZE": "1",
            "LAUNCH_PIN_GPU": "none",
            "LAUNCH_SECRETS": json.dumps({"KEY": reference}),
            "LAUNCH_SOURCE_DIR": str(folder),
            "GCE_METADATA_HOST": f"127.0.0.1:{google.port}",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER": f"http://127.0.0.1:{google.port}/",
            # A proxy leads nowhere near a metadata server.
            "http_proxy": "http://127.0.0.1:9",
            "no_proxy": "127.0.0.1" if not environment.get("NO_BYPASS") else "",
            **environment,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


def shown(done: subprocess.CompletedProcess[str]) -> None:
    """The rank had the value, and did not print it."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"length {len(VALUE)}" in done.stdout
    assert "value ***" in done.stdout
    assert VALUE not in done.stdout + done.stderr


@pytest.mark.parametrize("checksum", [None, crc32c(VALUE.encode())])
def test_a_rank_gets_the_value_with_the_service_accounts_token(
    checksum: int | None, google: Google, tmp_path: Path
) -> None:
    google.checksum = checksum
    shown(guard(tmp_path, google))
    paths = [path for path, _ in google.asked]
    account = "/computeMetadata/v1/instance/service-accounts/default"
    assert paths == [f"{account}/token", f"/v1/{REFERENCE}:access"]


def test_a_busy_service_is_asked_again(google: Google, tmp_path: Path) -> None:
    google.busy = 2
    shown(guard(tmp_path, google))


def test_the_checksum_is_the_standards(tmp_path: Path) -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


# changes of the cloud; words of the reason; words of the fix
REFUSED = {
    "no access": (
        {"status": 403, "message": "Permission denied"},
        "the job's service account trainer@my-project.iam.gserviceaccount.com may not read it",
        "gcloud secrets add-iam-policy-binding wandb --project my-project --member serviceAccount:",
    ),
    "no such secret": (
        {"status": 404, "message": "Secret [wandb] not found"},
        "there is no such secret or version (HTTP 404: Secret [wandb] not found)",
        "gcloud secrets versions list wandb",
    ),
    "a disabled version": (
        {"status": 400, "message": "Secret Version is in DISABLED state."},
        "disabled or destroyed (HTTP 400: Secret Version is in DISABLED state.)",
        "gcloud secrets versions enable latest --secret wandb",
    ),
    "no account": ({"account": False}, "gives no token (HTTP 404)", "--service-account"),
    "bytes": ({"data": b"\xff\xfe\x00"}, "no UTF-8 text", "store it as text"),
    "damaged": ({"checksum": 1}, "damaged on its way", "start the job again"),
    "something else": ({"status": 418, "message": "a teapot"}, "HTTP 418: a teapot", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_reference_without_a_value_ends_the_rank_with_the_reason_and_the_fix(
    case: str, google: Google, tmp_path: Path
) -> None:
    changes, reason, fix = REFUSED[case]
    for name, value in changes.items():
        setattr(google, name, value)
    done = guard(tmp_path, google)
    assert done.returncode == 1
    told = done.stdout + done.stderr
    assert reason in told
    assert fix in told
    assert f"a value for the secret KEY, found none by {REFERENCE}" in told
    assert "Traceback" not in told
    assert TOKEN not in told


def test_where_there_is_no_metadata_server_it_says_so(google: Google, tmp_path: Path) -> None:
    host = f"127.0.0.1:{free_port()}"
    done = guard(tmp_path, google, GCE_METADATA_HOST=host)
    assert done.returncode == 1
    assert f"no metadata server at {host}: " in done.stdout
    assert "elsewhere use env: or file:" in done.stdout


def test_a_network_without_a_way_to_the_service_is_named(google: Google, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    done = guard(tmp_path, google, CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER=address)
    assert done.returncode == 1
    assert f"no answer from {address}: " in done.stdout


def test_the_metadata_server_is_asked_past_a_proxy(google: Google, tmp_path: Path) -> None:
    done = guard(tmp_path, google, NO_BYPASS="1")
    assert "no answer from" in done.stdout, "the API was asked through the proxy"
    assert [path.rpartition("/")[2] for path, _ in google.asked] == ["token"]


@pytest.mark.parametrize("reference", ["projects/p/secrets/s", "projects/p/s/x/versions/1"])
def test_half_a_name_is_refused(reference: str, google: Google, tmp_path: Path) -> None:
    done = guard(tmp_path, google, reference)
    assert done.returncode == 1
    assert "projects/PROJECT/secrets/NAME/versions/VERSION" in done.stdout
    assert not google.asked


def test_it_is_not_imported_where_no_secret_asks_for_it(tmp_path: Path) -> None:
    script = "import sys; print([name for name in sys.modules if name == 'urllib.request'])"
    (tmp_path / "show.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(ENTRYPOINTS / "guard.py"), "show.py"],
        env={**clean_environment(), "LAUNCH_WORLD_SIZE": "1", "LAUNCH_SOURCE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        cwd=os.fspath(tmp_path),
    )
    assert "[]" in done.stdout, done.stdout + done.stderr

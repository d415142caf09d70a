"""The metadata server of a rehearsal, as Google's own library and our guard ask it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from launchers.vertex.service.host_token import write_token
from launchers.vertex.sidecars.declared import METADATA
from launchers.vertex.sidecars.metadata_server import is_neighbour
from tests.entrypoints.simulated import free_port
from tests.fakes.vertex_service import VertexService
from tests.refusals import refused
from tests.waiting import until

ACCOUNT = "computeMetadata/v1/instance/service-accounts/default"
# In a process of its own: the library reads its variables when it is imported.
LIBRARY = """
import google.auth
from google.auth.transport.requests import Request
credentials, project = google.auth.default()
credentials.refresh(Request())
print(type(credentials).__module__, project, credentials.token, credentials.valid)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """``host:port`` of a server that has one token."""
    told = {"token": "a-token", "expires": time.time() + 3000, "project": "p", "email": "default"}
    file = tmp_path / "token.json"
    file.write_text(json.dumps(told))
    address = f"127.0.0.1:{free_port()}"
    port = address.partition(":")[2]
    with subprocess.Popen([sys.executable, str(METADATA.program), str(file), port]) as process:
        try:
            until(lambda: answers(address), "an answer of the server")
            yield address
        finally:
            process.kill()


def answers(address: str) -> bool:
    try:
        return bool(ask(address, ""))
    except OSError:
        return False


def ask(address: str, path: str, flavor: str = "Google") -> str:
    request = urllib.request.Request(
        f"http://{address}/{path}", headers={"Metadata-Flavor": flavor} if flavor else {}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert answer.headers["Metadata-Flavor"] == "Google"
        return str(answer.read().decode())


def test_the_token_is_told_with_the_time_that_is_left(server: str) -> None:
    token = json.loads(ask(server, f"{ACCOUNT}/token"))
    assert (token["access_token"], token["token_type"]) == ("a-token", "Bearer")
    assert 0 < token["expires_in"] <= 3000
    assert ask(server, "computeMetadata/v1/project/project-id") == "p"
    assert json.loads(ask(server, f"{ACCOUNT}/?recursive=true"))["email"] == "default"


@pytest.mark.parametrize(("path", "flavor"), [(f"{ACCOUNT}/token", ""), ("else", "Google")])
def test_nothing_else_is_told_and_nobody_who_asks_otherwise(
    path: str, flavor: str, server: str
) -> None:
    with pytest.raises(urllib.error.HTTPError):
        ask(server, path, flavor)


@pytest.mark.processes
def test_googles_own_library_finds_the_account(server: str, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "NO_GCE_CHECK"}
    kept.pop("GOOGLE_APPLICATION_CREDENTIALS", None)
    kept.pop("GOOGLE_CLOUD_PROJECT", None)
    named = {"GCE_METADATA_HOST": server, "GCE_METADATA_IP": server}
    told = subprocess.run(
        [sys.executable, "-c", LIBRARY],
        env={**kept, **named, "CLOUDSDK_CONFIG": str(tmp_path / "none"), "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    expected = "google.auth.compute_engine.credentials p a-token True"
    assert told.stdout.strip() == expected, told.stderr


def test_the_token_is_written_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with VertexService() as google:
        for name, value in google.environment().items():
            monkeypatch.setenv(name, value)
        file = write_token(tmp_path)
        told = json.loads(file.read_text())
        assert told["project"] == google.account.project
        assert told["email"] == google.account.caller.email
    assert file.stat().st_mode & 0o777 == 0o600
    assert set(told) == {"token", "expires", "project", "email"}, "no key, no refresh token"
    assert 0 < told["expires"] - time.time() <= 3600


def test_no_account_is_told_with_the_way_to_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with refused("no-credentials", "gcloud auth application-default login"):
        write_token(tmp_path)
    assert list(tmp_path.iterdir()) == []


# As the kernel writes it: addresses are numbers of this byte order. A network 172.18.0.0/16 whose
# gateway is 172.18.0.1, and one that leads nowhere, 10.9.8.0/24.
_HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
ROUTES = (
    _HEAD + "eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
    "eth1\t0008090A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)


@pytest.mark.parametrize(
    ("address", "answered"),
    [
        ("172.18.0.2", True),
        ("172.18.255.254", True),
        ("10.9.8.3", True),
        ("127.0.0.1", True),
        ("172.18.0.1", False),
        ("10.9.8.1", False),
        ("172.17.0.2", False),
        ("172.19.0.2", False),
        ("10.9.9.3", False),
        ("8.8.8.8", False),
    ],
)
def test_the_containers_of_its_own_network_are_answered_alone(address: str, answered: bool) -> None:
    assert is_neighbour(address, ROUTES) is answered


def test_without_a_network_this_container_alone_is_answered() -> None:
    assert is_neighbour("127.0.0.1", _HEAD)
    assert not is_neighbour("172.18.0.2", _HEAD)
    assert not is_neighbour("172.18.0.2", "")

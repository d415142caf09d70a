"""google-auth asks in the background where its credentials may be used: no command waits for that,
and nothing of it is seen."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.cli.command import Launch
from tests.vertex.service.submitting import Bench, bench

CLUTTER = ("Warning", "urllib3", "Retrying", "allowedLocations", "Regional", "Traceback")


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


class Silent:
    """A proxy that takes connections and never answers."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        while True:
            try:
                self.taken.append(self._listener.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        """End it, and every connection."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for one in self.taken:
            one.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    made = Silent()
    yield made
    made.close()


def outside(url: str) -> dict[str, str]:
    """The variables of a command whose way out of this machine is ``url``."""
    return {"HTTPS_PROXY": url, "https_proxy": url}


def clutter_in(text: str) -> list[str]:
    return [word for word in CLUTTER if word in text]


def test_a_network_that_swallows_everything_delays_no_command(tried: Bench, silent: Silent):
    answer = tried.submit(**outside(silent.url))
    assert answer.code == 0, answer.err
    assert silent.taken, "google-auth has asked, and has no answer yet"
    assert clutter_in(answer.err) == []
    for words in (("list",), ("status", "train"), ("logs", "train"), ("wait", "train")):
        answer = tried.ask(*words, **outside(silent.url))
        assert answer.code == 0, answer.err
        assert clutter_in(answer.err) == []


def test_a_network_that_refuses_everything_is_not_heard_of(tried: Bench):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    answer = tried.submit(**outside(url))
    assert answer.code == 0, answer.err
    assert clutter_in(answer.err) == []


def test_nothing_else_leaves_this_machine(tried: Bench):
    assert tried.submit().code == 0
    assert set(tried.google.outside) <= {"iamcredentials.googleapis.com:443"}


def test_a_persons_own_credentials_without_a_quota_project_clutter_nothing(tried: Bench):
    folder = tried.launch.home / "gcloud"
    folder.mkdir()
    words = {"client_id": "x", "client_secret": "y", "refresh_token": "z"}
    file = folder / "application_default_credentials.json"
    file.write_text(json.dumps({"type": "authorized_user", **words}))
    where = {"GOOGLE_APPLICATION_CREDENTIALS": "", "CLOUDSDK_CONFIG": str(folder)}
    answer = tried.submit(**where)
    # Their token comes from one place alone, which cannot be reached here.
    assert answer.code == 5
    assert "oauth2.googleapis.com cannot be reached: proxy error" in answer.err
    assert clutter_in(answer.err) == []
    assert "HTTPSConnectionPool" not in answer.err
    assert not tried.google.received("customJobs.create")

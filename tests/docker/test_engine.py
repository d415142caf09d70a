"""Connecting to the Docker engine, and saying so where there is none."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from docker.errors import APIError
from requests.exceptions import ConnectionError as Broken
from requests.exceptions import ReadTimeout
from urllib3.exceptions import ReadTimeoutError

from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError
from launchers.docker.engine import connected, engine
from tests.cli.command import Launch
from tests.refusals import refused as refused_by
from tests.rehearsal.engines import Engine


def refused(monkeypatch: pytest.MonkeyPatch, host: str) -> str:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(LaunchError) as caught:
        engine()
    assert caught.value.exit_code == EXIT_PREFLIGHT
    return str(caught.value)


def test_no_engine_is_one_line_with_how_to_start_it_and_the_way_without(
    launch: Launch, tmp_path: Path
) -> None:
    answer = launch("image", "build", DOCKER_HOST=f"unix://{tmp_path}/none.sock")

    assert answer.code == EXIT_PREFLIGHT
    (line,) = answer.err.splitlines()
    assert "none.sock: no such socket" in line
    assert "dockerd" in line
    assert "`launch local`" in line


def test_a_port_where_nothing_listens_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        assert "nothing listens there" in refused(monkeypatch, f"tcp://127.0.0.1:{port}")


@pytest.mark.parametrize("host", ["no-scheme:x:y", "ftp://127.0.0.1:1"])
def test_a_broken_docker_host_is_a_message(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    assert host in refused(monkeypatch, host)
    assert "set DOCKER_HOST" in refused(monkeypatch, host)


def test_a_context_that_is_not_there_does_not_mean_another_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Engine() as one:
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        monkeypatch.setenv("DOCKER_CONTEXT", "no-such")
        told = "Docker engine: DOCKER_CONTEXT no-such: Docker's current context is not there"
        monkeypatch.delenv("DOCKER_HOST", raising=False)
        with refused_by("docker-engine", told):
            engine()
        monkeypatch.delenv("DOCKER_CONTEXT")
        (tmp_path / "config.json").write_text('{"currentContext": "gone"}')
        with refused_by("docker-engine", "Docker's current context is not there"):
            engine()
        monkeypatch.setenv("DOCKER_HOST", one.address)
        engine().close()


def test_an_address_by_ssh_says_which_package_it_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paramiko", None)
    for name in [name for name in sys.modules if name.split(".")[0] == "docker"]:
        monkeypatch.delitem(sys.modules, name)

    told = refused(monkeypatch, "ssh://me@a.invalid")

    assert "with the package paramiko, which is not installed" in told
    assert "pipx inject launch-training paramiko" in told
    assert "systemctl" not in told


def test_an_engine_that_goes_away_in_the_middle_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Engine() as one:
        monkeypatch.setenv("DOCKER_HOST", one.address)
        gone = refused_by("docker-engine", "it went away before this was done")
        with gone as caught, connected() as client:
            one.__exit__(None, None, None)
            client.api.close()
            client.images.list()
    assert caught.value.exit_code == EXIT_PREFLIGHT


# Of an answer, of a stream, and of a stream that requests reads.
SLOW = ReadTimeoutError(None, "/x", "read timed out")  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [ReadTimeout("read timed out"), SLOW, Broken(SLOW)])
def test_an_engine_that_is_too_busy_to_answer_did_not_go_away(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    with Engine() as one:
        monkeypatch.setenv("DOCKER_HOST", one.address)
        with refused_by("docker-engine", "Docker engine: no answer in 7 s"), connected(7):
            raise error


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("could not find an available, non-overlapping IPv4 address pool", "docker network prune"),
        ("write /var/lib/docker/x: no space left on device", "docker system df"),
        ("something new", "its log"),
    ],
)
def test_what_an_engine_refuses_is_told_in_its_words_with_the_way_on(
    monkeypatch: pytest.MonkeyPatch, said: str, fix: str
) -> None:
    with Engine() as one:
        monkeypatch.setenv("DOCKER_HOST", one.address)
        with refused_by("docker-engine", said) as caught, connected():
            raise APIError("500 Server Error", explanation=f"{said}\n")
    (problem,) = caught.value.problems
    assert fix in problem.fix
    assert caught.value.exit_code == EXIT_PREFLIGHT

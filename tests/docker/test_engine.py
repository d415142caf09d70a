"""Connecting to the Docker engine, and saying so where there is none."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from launchers.core.model.problems import EXIT_PREFLIGHT, LaunchError
from launchers.docker.engine import engine
from tests.cli.command import Launch


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

"""Pushing to a registry on the loopback, by the real engine."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from launchers.core.model.problems import EXIT_PROVIDER
from launchers.core.records.pushed_image import last_pushed
from launchers.image.push import push
from tests.image.engine import own_tag, tiny_image
from tests.image.registry import serve
from tests.image.told import Told
from tests.refusals import refused

pytestmark = pytest.mark.docker


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder and a Docker configuration that are this test's."""
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))


def test_a_pushed_image_is_remembered_by_its_digest() -> None:
    with own_tag() as (client, tag), serve() as registry:
        tiny_image(client, tag)

        reference = push(client, tag, f"{registry.address}/team/image", Told())

        assert reference == f"{registry.address}/team/image@{registry.manifests['team/image:x']}"
        assert last_pushed() == reference


def test_a_tag_in_the_repository_is_kept() -> None:
    with own_tag() as (client, tag), serve() as registry:
        tiny_image(client, tag)

        push(client, tag, f"{registry.address}/team/image:v7", Told())

        assert list(registry.manifests) == ["team/image:v7"]


def test_credentials_come_from_dockers_own_configuration(tmp_path: Path) -> None:
    login = "me:" + "word"
    with serve(login) as registry:
        entry = {"auth": base64.b64encode(login.encode()).decode()}
        config = {"auths": {registry.address: entry}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        with own_tag() as (client, tag):
            tiny_image(client, tag)

            push(client, tag, f"{registry.address}/team/image", Told())

            assert registry.logins == {login}
        assert "word" not in (tmp_path / "home" / "image.json").read_text()


def test_a_registry_that_refuses_ends_with_5_and_the_line_that_logs_in() -> None:
    with own_tag() as (client, tag), serve("me:word") as registry:
        tiny_image(client, tag)

        with refused("push-refused") as caught:
            push(client, tag, f"{registry.address}/team/image", Told())

        assert caught.value.exit_code == EXIT_PROVIDER
        assert f"docker login {registry.address}" in str(caught.value)
        assert last_pushed() is None

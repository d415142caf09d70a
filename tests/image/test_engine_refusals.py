"""What an engine refuses, in the words of its rule; the engine is a stand-in that runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_PROVIDER
from launchers.core.records.pushed_image import last_pushed
from launchers.docker.engine import engine
from launchers.image.base_image import have_base, need_room
from launchers.image.check import image_of
from launchers.image.names import made_for
from launchers.image.push import push
from launchers.image.recipes import HOROVOD
from tests.cli.command import Launch
from tests.image.told import Told
from tests.refusals import refused
from tests.rehearsal.engines import Engine

IMAGE = "launch-horovod:1"
ECR = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder and a Docker configuration that are this test's."""
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))


@contextmanager
def connected(**engines: Any) -> Iterator[Any]:
    """The client of an engine that has our image."""
    with pytest.MonkeyPatch.context() as patch, Engine(images={IMAGE: {}}, **engines) as one:
        patch.setenv("DOCKER_HOST", one.address)
        client = engine()
        try:
            yield client
        finally:
            client.close()


def test_a_disk_that_a_build_would_fill_is_refused_where_the_engine_is_this_machines(
    tmp_path: Path,
) -> None:
    told = {"info": {"DockerRootDir": str(tmp_path)}}
    too_much = 2**80
    with connected(socket=tmp_path / "sock", **told) as client:
        need_room(client, 0)
        with refused("image-disk", f"{tmp_path}: .* free; expected .* for a build"):
            need_room(client, too_much)
    with connected(**told) as of_another_machine:
        need_room(of_another_machine, too_much)


@pytest.mark.parametrize(
    ("name", "rule", "words"),
    [
        ("", "image-name", "''; expected the name or id"),
        ("launch horovod", "image-name", "launch horovod: invalid reference format"),
        ("launch-horovod:0", "image-absent", "launch-horovod:0 is not on this machine"),
    ],
)
def test_an_image_that_cannot_be_had_is_told_apart_from_a_text_that_names_none(
    name: str, rule: str, words: str
) -> None:
    with connected() as client:
        assert image_of(client, IMAGE).tags == [IMAGE]
        assert made_for(client, name) == HOROVOD
        with refused(rule, f"IMAGE: {words}"):
            image_of(client, name)


def test_a_base_that_is_no_images_name_is_told_in_the_engines_words_alone() -> None:
    with connected() as client, refused("image-base-missing", "--base: A b ") as caught:
        have_base(client, "A b", is_asked_for=True, progress=Told())
    (problem,) = caught.value.problems
    assert problem.found.endswith("pulled: invalid reference format")


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        (("--push", "https://a.example/x"), "push-repository"),
        (("--sbom", "no/such/folder.json"), "image-sbom-file"),
        (("--sbom", "."), "image-sbom-file"),
        (("--base", ""), "flag-value"),
        (("--tag", ""), "flag-value"),
        (("--tag", "Bad Tag"), "image-name"),
        (("--tag", "team/Horovod"), "image-name"),
        (("--requirements", "", "--with", "torch"), "flag-value"),
    ],
)
def test_what_would_fail_after_a_build_or_names_nothing_is_refused_before_it(
    launch: Launch, flags: tuple[str, ...], rule: str
) -> None:
    answer = launch("image", "build", *flags, DOCKER_HOST="unix:///no/engine.sock")

    assert answer.code == EXIT_BAD_REQUEST
    assert f"[{rule}]" in answer.err


@pytest.mark.parametrize("name", ["https://a.example/x", "a.example/x@sha256:" + "0" * 64])
def test_a_name_that_no_image_can_have_is_refused_before_anything_is_sent(name: str) -> None:
    told = Told()
    with connected() as client, refused("push-repository", "HOST/PATH") as caught:
        push(client, IMAGE, name, told)
    assert caught.value.exit_code == EXIT_BAD_REQUEST
    assert told.steps == []


@pytest.mark.parametrize(
    ("repository", "error", "fix"),
    [
        ("a.example/x", "denied: no access", "docker login a.example"),
        (f"{ECR}/x", "no basic auth credentials", "--region eu-west-1 | docker login"),
        ("us-docker.pkg.dev/p/x", "Unauthorized", "gcloud auth configure-docker us-docker.pkg.dev"),
        (f"{ECR}/x", "repository 'x' not found", "make the repository first"),
        ("a.example/x", "received unexpected HTTP status: 500", ""),
    ],
)
def test_a_push_that_the_registry_refuses_says_what_to_do_and_is_not_remembered(
    repository: str, error: str, fix: str
) -> None:
    events = [{"status": "Preparing"}, {"error": error, "errorDetail": {"message": error}}]
    with connected(push=events) as client, refused("push-refused") as caught:
        push(client, IMAGE, repository, Told())
    (problem,) = caught.value.problems
    assert problem.found == f"{repository}: {error}"
    assert fix in problem.fix
    assert bool(fix) is bool(problem.fix)
    assert caught.value.exit_code == EXIT_PROVIDER
    assert last_pushed() is None


def test_a_push_without_a_digest_has_not_arrived() -> None:
    silent = connected(push=[{"status": "Pushed"}])
    with silent as client, refused("push-refused", "no digest in its answer"):
        push(client, IMAGE, "a.example/x", Told())
    assert last_pushed() is None

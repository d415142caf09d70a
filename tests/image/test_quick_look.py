"""A look into an image that imports nothing of it, and is kept by the image's id."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from launchers.image import quick_look as module
from launchers.image.quick_look import quick_look
from tests.refusals import refused

ANSWER: dict[str, Any] = {
    "python": "3.11.2",
    "versions": {
        "tensorflow": "2.18.1",
        "tf-keras": "2.18.0",
        "torch": "",
        "horovod": "0.28.1",
        "mpi4py": "4.1.2",
        "sagemaker-training": "5.1.4",
    },
    "mpirun": {"path": "/usr/bin/mpirun", "version": "4.1.4", "name": "mpirun (Open MPI) 4.1.4"},
    "sshd": {"path": "/usr/sbin/sshd"},
    "train": "/opt/venv/bin/train",
    "code": [],
}


class Engine:
    """Images by their names; every one is of the same id."""

    def __init__(self, identifier: str = "sha256:1"):
        attributes = {"Architecture": "amd64", "Size": 1, "Config": {}}
        self.images = SimpleNamespace(
            get=lambda name: SimpleNamespace(id=identifier, attrs=attributes)
        )


@pytest.fixture
def asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """Answers that a container gives, newest last; each is taken once."""
    answers: list[dict[str, Any]] = [ANSWER]
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setattr(module, "ask", lambda *given: answers.pop())
    return answers


def missing(strategy: str = "horovod") -> list[str]:
    client: Any = Engine()
    return [row.need.name for row in quick_look(client, "image", strategy).missing()]


def test_an_image_with_everything_lacks_nothing_and_is_asked_once(asked: list[Any]) -> None:
    assert missing() == []
    assert missing() == [], "the answer is remembered"
    assert missing("torch") == ["torch"], "and serves every strategy"
    assert missing("tensorflow") == []
    assert asked == []


def test_another_image_is_asked_again(asked: list[Any]) -> None:
    asked.append(ANSWER)
    client: Any = Engine()
    other: Any = Engine("sha256:2")

    quick_look(client, "image")
    quick_look(other, "image")

    assert asked == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"versions": {}}, ["framework", "horovod", "mpi4py", "toolkit"]),
        ({"versions": {**ANSWER["versions"], "horovod": ""}}, ["horovod"]),
        ({"mpirun": {"path": "", "version": "", "name": ""}}, ["mpirun"]),
        ({"sshd": {"path": ""}}, ["sshd"]),
        ({"train": ""}, ["toolkit"]),
        ({"python": "3.6.9"}, ["python"]),
        ({"code": ["train.py"]}, ["code"]),
    ],
)
def test_what_ranks_of_horovod_lack_is_told_in_the_words_of_the_check(
    asked: list[Any], changes: dict[str, Any], expected: list[str]
) -> None:
    asked[:] = [{**ANSWER, **changes}]
    client: Any = Engine()

    found = quick_look(client, "image")

    assert [row.need.name for row in found.missing()] == expected
    assert [problem.rule for problem in found.problems()] == [f"image-{name}" for name in expected]
    assert all(problem.fix for problem in found.problems())


def test_a_broken_memory_counts_as_none(asked: list[Any]) -> None:
    (module.data_folder() / "images.json").write_text("[")

    assert missing() == []


@pytest.mark.docker
def test_an_image_that_answers_nothing_is_told_and_not_remembered(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from launchers.docker.engine import engine
    from launchers.image.build import CPU_BASE

    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path_factory.mktemp("home")))
    client = engine()
    with refused("image-python", "no python3 and no python on PATH"):
        quick_look(client, CPU_BASE)
    with refused("image-absent", "is not on this machine"):
        quick_look(client, "launch-test-no-such:image")
    client.close()
    assert not (module.data_folder() / "images.json").exists()

"""`launch doctor docker` against engines that are not as they should be."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers.image.names import GPU_LABEL, RECIPE_LABEL
from launchers.image.recipes import recipe_digest
from launchers.rehearsal import doctor as module
from launchers.rehearsal.engine.labels import Labels, this_machine
from tests.cli.doctor import Doctor, examined
from tests.rehearsal.engines import Engine


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    return examined(tmp_path, monkeypatch, capsys)


@pytest.fixture
def engine(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """One with our image, on a machine without GPUs."""
    monkeypatch.setattr(module, "visible_gpus", list)
    with Engine(
        images={"launch-horovod:1": {RECIPE_LABEL: recipe_digest(), GPU_LABEL: "0"}}
    ) as one:
        doctor.sees({"DOCKER_HOST": one.address})
        yield one


def test_an_engine_where_all_is_well(doctor: Doctor, engine: Engine):
    told = doctor.json("docker")
    found = told.of("docker")
    assert told.code == 0, told.out
    assert {name: one["state"] for name, one in found.items()} == {
        "engine": "ok",
        "containers": "ok",
        "processor": "ok",
        # Not this machine's engine, so not this machine's disk.
        "disk": "skipped",
        "memory": "ok",
        "image": "ok",
        "rehearsals": "ok",
    }
    assert found["engine"]["found"] == "Docker 24.0.7, API 1.43"
    assert found["image"]["found"] == "launch-horovod:1, 2.2 GB"


# What the engine says of itself -> the finding, its state, its rule, its words.
WRONG: dict[str, tuple[dict[str, Any], str, str, str, str]] = {
    "too old": (
        {"version": "19.03.15", "api": "1.40"},
        "engine",
        "error",
        "engine-version",
        "Docker 19.03.15, API 1.40",
    ),
    "Windows containers": (
        {"info": {"OSType": "windows"}},
        "containers",
        "error",
        "engine-system",
        "windows containers",
    ),
    "another architecture": (
        {"info": {"Architecture": "aarch64"}},
        "processor",
        "warning",
        "engine-architecture",
        "aarch64",
    ),
    "too little memory": (
        {"info": {"MemTotal": 2 * 10**9}},
        "memory",
        "warning",
        "engine-memory",
        "2.0 GB",
    ),
    "no image": ({"images": {}}, "image", "warning", "own-image", "none"),
    "an image of another recipe": (
        {"images": {"launch-horovod:0": {RECIPE_LABEL: "older", GPU_LABEL: "0"}}},
        "image",
        "warning",
        "own-image",
        "launch-horovod:0, of another version's recipe",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_as_it_should_be_is_told_with_what_to_do(
    doctor: Doctor, engine: Engine, name: str
):
    changes, finding, state, rule, words = WRONG[name]
    for field, value in changes.items():
        setattr(engine, field, value)
    told = doctor.json("docker")
    found = told.of("docker")[finding]
    assert told.code == (4 if state == "error" else 0)
    assert (found["state"], found["rule"]) == (state, rule)
    assert words in found["found"]
    assert found["needed"]
    assert found["fix"]


def test_an_older_image_of_ours_is_built_anew_by_the_line_to_run(doctor: Doctor, engine: Engine):
    engine.images = {}
    assert doctor.json("docker").of("docker")["image"]["run"] == "launch image build"


def test_gpus_that_the_engine_does_not_pass_on_are_told(
    doctor: Doctor, engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "visible_gpus", lambda: ["0", "1"])
    monkeypatch.setattr("launchers.rehearsal.staging.resources.shutil.which", lambda name: None)
    found = doctor.json("docker").of("docker")["GPUs"]
    assert (found["state"], found["rule"]) == ("warning", "engine-gpus")
    engine.info = {"Runtimes": {"nvidia": {}}}
    assert doctor.json("docker").of("docker")["GPUs"]["state"] == "ok"


def test_what_a_killed_launcher_left_is_told(doctor: Doctor, engine: Engine):
    labels = Labels("abc", "train", f"{os.getpid()}:0:before", this_machine(), 1.0)
    engine.containers = [{"Id": "1", "Names": ["/launch-abc-1"], "Labels": labels.values()}]
    found = doctor.json("docker").of("docker")["rehearsals"]
    assert (found["state"], found["rule"]) == ("warning", "own-leftovers")
    assert (found["found"], found["run"]) == ("1 left over", "launch rehearsals --clean")


@pytest.mark.parametrize(("free", "state"), [(10**9, "warning"), (10**11, "ok")])
def test_too_little_disk_is_told_where_the_engine_is_this_machines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, state: str
):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda place: shutil_usage(free))
    found = module._disk({"DockerRootDir": str(tmp_path)}, "http+docker://localhost")
    assert (found.state, found.rule) == (state, "engine-disk" if state == "warning" else "")


def shutil_usage(free: int) -> Any:
    from types import SimpleNamespace

    return SimpleNamespace(free=free)


def test_without_an_engine_the_first_line_starts_one(doctor: Doctor):
    doctor.sees({"DOCKER_HOST": f"unix://{doctor.home}/none.sock"})
    told = doctor.json("docker")
    found = told.of("docker")
    assert told.code == 4
    assert (found["engine"]["rule"], found["engine"]["run"]) == (
        "docker-engine",
        "sudo systemctl start docker",
    )
    assert "no such socket" in found["engine"]["found"]
    assert found["image"]["state"] == "skipped"


def test_a_socket_that_this_user_may_not_open_is_told_with_the_group(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    place = doctor.home / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        doctor.sees({"DOCKER_HOST": f"unix://{place}"})
        monkeypatch.setattr("docker.transport.unixconn.socket.socket.connect", refused)
        found = doctor.json("docker").of("docker")["engine"]
    assert "this user may not open it" in found["found"]
    assert found["run"] == "sudo usermod -aG docker $USER"


def test_without_docker_it_is_no_error_among_all(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    from launchers.core.spec.job import JobSpec

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "_SOCKETS", (str(tmp_path / "none.sock"),))
    assert "no socket" in module.DockerDoctor().unused(JobSpec())
    doctor.sees({"DOCKER_HOST": "tcp://127.0.0.1:1"})
    assert not module.DockerDoctor().unused(JobSpec())

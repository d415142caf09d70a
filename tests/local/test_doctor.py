"""`launch doctor local`: what the ranks' Python has, and what they run on."""

from __future__ import annotations

import json
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launchers.core.model.findings import Finding
from launchers.local.doctor import machine, python
from launchers.machine.python_environment import PythonEnvironment
from tests.cli.doctor import Doctor, examined

GOOD_TORCH = {
    "distributed": True,
    "gloo": True,
    "nccl": False,
    "mpi": False,
    "cuda": "",
    "gpus": 0,
}


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    return examined(tmp_path, monkeypatch, capsys)


def probed(
    monkeypatch: pytest.MonkeyPatch, *answers: Any, gpus: int = 0, **versions: str
) -> python.Probed:
    """A Python of 3.11 with those versions, whose imports give these answers, or errors."""
    environment = PythonEnvironment("/opt/bin/python", "--python", "3.11.7", **versions)
    monkeypatch.setattr(python, "inspect", lambda named: (environment, []))
    monkeypatch.setattr(python, "visible_gpus", lambda: [str(one) for one in range(gpus)])
    given = iter(answers)

    def asked(self: python.Probed, program: str) -> Any:
        one = next(given)
        return python._Answer(error=one) if isinstance(one, str) else python._Answer(one)

    monkeypatch.setattr(python.Probed, "_asked", asked)
    return python.Probed()


def verdict(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.state, one.rule) for one in found]


def test_a_python_that_is_not_there_is_an_error_and_says_nothing_of_libraries(doctor: Doctor):
    told = doctor.json("local", "--python", "/nowhere/python")
    found = told.of("local")
    assert told.code == 2
    assert (found["ranks' Python"]["state"], found["ranks' Python"]["rule"]) == (
        "error",
        "local-python",
    )
    assert not {"Horovod", "TensorFlow", "PyTorch", "JAX"} & set(found)


def test_a_python_with_nothing_to_train_by_is_an_error(monkeypatch: pytest.MonkeyPatch):
    bare = probed(monkeypatch)
    assert verdict(bare.interpreter()) == [("error", "local-no-strategy")]
    assert verdict(bare.horovod()) == [("error", "local-no-horovod")]
    assert [one.found for one in bare.torch() + bare.jax() + bare.tensorflow()] == [
        "not installed"
    ] * 3


def test_without_horovod_the_other_strategies_still_train(monkeypatch: pytest.MonkeyPatch):
    other = probed(monkeypatch, GOOD_TORCH, torch="2.5.0")
    assert verdict(other.interpreter()) == [("ok", "")]
    assert verdict(other.horovod()) == [("warning", "local-no-horovod")]
    (found,) = other.torch()
    assert (found.state, found.found) == ("ok", "2.5.0, with Gloo")


def test_horovod_says_its_controllers_for_each_framework(monkeypatch: pytest.MonkeyPatch):
    both = probed(
        monkeypatch,
        ["gloo", "mpi"],
        ["gloo", "nccl"],
        horovod="0.28.1",
        tensorflow="2.18.1",
        torch="2.5.0",
    )
    assert [one.found for one in both.horovod()] == [
        "0.28.1 for TensorFlow, with Gloo, MPI",
        "0.28.1 for PyTorch, with Gloo, NCCL",
    ]


def test_horovod_that_was_built_for_one_of_two_frameworks_serves_that_one(
    monkeypatch: pytest.MonkeyPatch,
):
    one = probed(
        monkeypatch, ["gloo"], "no mpi_lib_v2", horovod="0.28.1", tensorflow="2.18.1", torch="2"
    )
    assert [found.found for found in one.horovod()] == ["0.28.1 for TensorFlow, with Gloo"]


def test_horovod_without_gloo_cannot_meet_here(monkeypatch: pytest.MonkeyPatch):
    found = probed(monkeypatch, ["mpi"], horovod="0.28.1", tensorflow="2.18.1").horovod()
    assert verdict(found) == [("error", "horovod-controller")]
    assert "HOROVOD_WITH_GLOO=1" in found[0].fix


def test_horovod_that_cannot_be_imported_says_why(monkeypatch: pytest.MonkeyPatch):
    words = "undefined symbol: _ZN10tensorflow"
    found = probed(monkeypatch, words, horovod="0.28.1", tensorflow="2.19.0").horovod()
    assert verdict(found) == [("error", "local-import")]
    assert words in found[0].found


def test_gpus_beside_a_build_that_cannot_use_them_are_told(monkeypatch: pytest.MonkeyPatch):
    with_gpus = probed(
        monkeypatch, ["gloo"], GOOD_TORCH, gpus=2, horovod="0.28.1", tensorflow="2.18.1", torch="2"
    )
    monkeypatch.setattr(python, "_HOROVOD", "{binding}")
    assert with_gpus.horovod()[0].rule == "gpu-unused"
    alone = probed(monkeypatch, {**GOOD_TORCH, "cuda": "12.4"}, gpus=2, torch="2.5.0")
    (found,) = alone.torch()
    assert (found.state, found.rule) == ("warning", "gpu-unused")
    assert "built for CUDA 12.4" in found.found


def test_torch_without_gloo_cannot_meet_here(monkeypatch: pytest.MonkeyPatch):
    answer = {**GOOD_TORCH, "distributed": False, "gloo": False}
    assert verdict(probed(monkeypatch, answer, torch="2").torch()) == [("error", "torch-gloo")]


def test_jax_says_what_it_computes_on(monkeypatch: pytest.MonkeyPatch):
    (found,) = probed(monkeypatch, ["cpu"], jax="0.10.2").jax()
    assert found.found == "0.10.2, on cpu"
    assert verdict(probed(monkeypatch, "no jaxlib", jax="0.10.2").jax()) == [
        ("error", "local-import")
    ]


KERAS: dict[str, tuple[dict[str, str], str, str]] = {
    "TensorFlow with Keras 2": ({"tensorflow": "2.15.1", "keras": "2.15.0"}, "ok", ""),
    "both": ({"tensorflow": "2.18.1", "keras": "3.8.0", "tf_keras": "2.18.0"}, "ok", ""),
    "Keras 3 alone": ({"tensorflow": "2.18.1", "keras": "3.8.0"}, "warning", "keras-missing"),
    "another tf-keras": (
        {"tensorflow": "2.18.1", "keras": "3.8.0", "tf_keras": "2.16.0"},
        "warning",
        "tf-keras-version",
    ),
}


@pytest.mark.parametrize("name", KERAS)
def test_keras_is_told_with_the_line_that_mends_it(monkeypatch: pytest.MonkeyPatch, name: str):
    versions, state, rule = KERAS[name]
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    found = probed(monkeypatch, **versions).tensorflow()[1]
    assert (found.state, found.rule) == (state, rule)
    assert "TF_USE_LEGACY_KERAS=1 is set" in found.found
    line = "/opt/bin/python -m pip install 'tf-keras==2.18.*'"
    assert found.run == (line if rule else "")


def test_a_compiler_is_needed_where_horovod_is_still_to_be_compiled(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(python.shutil, "which", lambda name: None)
    assert verdict(probed(monkeypatch).compiler()) == [("warning", "compiler-missing")]
    assert probed(monkeypatch, horovod="0.28.1").compiler()[0].state == "ok"
    monkeypatch.setattr(python.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(python, "said_by", lambda *command: "c++ (Debian) 12.2.0\nmore")
    assert probed(monkeypatch).compiler()[0].found == "c++ (Debian) 12.2.0, make, cmake"


def test_devices_that_the_driver_does_not_show_are_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(python, "said_by", lambda *command: "")
    assert verdict(probed(monkeypatch, gpus=4).gpus()) == [("error", "gpu-driver")]
    monkeypatch.setattr(python, "said_by", lambda *command: "NVIDIA L4, 550.54\nNVIDIA L4, 550.54")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    (found,) = probed(monkeypatch, gpus=1).gpus()
    assert found.found == "2 x NVIDIA L4, driver 550.54; CUDA_VISIBLE_DEVICES=1 leaves 1"


def usage(free: int) -> Callable[[object], SimpleNamespace]:
    return lambda place: SimpleNamespace(free=free)


def refuse(*_: object, **__: object) -> None:
    raise OSError(99, "Cannot assign requested address")


def unresolved(*_: object, **__: object) -> None:
    raise OSError(-2, "Name or service not known")


LOW: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, str]] = {
    "memory": (
        lambda patch: patch.setattr(machine, "_free_memory", lambda: 10**9),
        "memory",
        "memory-low",
    ),
    "shared memory": (
        lambda patch: patch.setattr(machine.shutil, "disk_usage", usage(64 * 1024**2)),
        "shared_memory",
        "shared-memory",
    ),
    "open files": (
        lambda patch: patch.setattr(resource, "getrlimit", lambda which: (256, 4096)),
        "open_files",
        "open-files",
    ),
    "host name": (
        lambda patch: patch.setattr(machine.socket, "getaddrinfo", unresolved),
        "host_name",
        "host-name",
    ),
    "loopback": (
        lambda patch: patch.setattr(machine.socket, "create_connection", refuse),
        "loopback",
        "loopback",
    ),
}


@pytest.mark.parametrize("name", LOW)
def test_what_ranks_would_stumble_over_is_told(monkeypatch: pytest.MonkeyPatch, name: str):
    spoil, check, rule = LOW[name]
    look: Callable[[], list[Finding]] = getattr(machine, check)
    before = look()[0]
    assert (before.name, before.state in ("ok", "skipped", "warning")) == (name, True)
    spoil(monkeypatch)
    (found,) = look()
    assert found.rule == rule
    assert found.needed
    assert found.fix
    if rule in ("open-files", "host-name", "loopback"):
        assert found.run


def test_a_containers_limits_are_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    assert "limit" not in machine.cpus()[0].found
    for name, text in {
        "cpu.max": "50000 100000",
        "memory.max": str(10**9),
        "memory.current": str(4 * 10**8),
    }.items():
        (tmp_path / name).write_text(text)
    assert machine.cpus()[0].found.startswith("0.5 of ")
    assert machine.memory()[0].found == "0.6 GB free"


def test_mpirun_and_ssh_are_told_and_needed_by_nothing_here(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "said_by", lambda *command: "mpirun (Open MPI) 4.1.4")
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    (found,) = machine.open_mpi()
    assert (found.state, found.found) == ("ok", "4.1.4, no ssh; ranks here need neither")


@pytest.mark.processes
def test_a_library_that_prints_and_fails_on_import_is_told_by_its_last_line(
    doctor: Doctor, tmp_path: Path
):
    """A real interpreter, whose torch fails."""
    packages = tmp_path / "packages"
    for name, text in {"torch": "print('hello')\nraise OSError('libcudnn.so.9')"}.items():
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text(text)
        info = packages / f"{name}-2.5.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.5.0\n")
    started = tmp_path / "python"
    started.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec {sys.executable} -S "$@"\n')
    started.chmod(0o755)
    told = doctor.json("local", "--python", str(started))
    found = told.of("local")
    assert told.code == 2
    assert found["PyTorch"]["found"] == "2.5.0: OSError: libcudnn.so.9"
    assert found["PyTorch"]["rule"] == "local-import"
    assert found["ranks' Python"]["found"].endswith(f"{started} (--python)")


@pytest.mark.horovod
@pytest.mark.processes
def test_the_horovod_of_this_environment_says_what_it_was_built_with(doctor: Doctor):
    answer = python.Probed(sys.executable)._asked(python._HOROVOD.format(binding="tensorflow"))
    assert "gloo" in answer.value, answer.error
    assert json.loads(json.dumps(answer.value)) == answer.value
    assert shutil.which("nvidia-smi") or "cuda" not in answer.value

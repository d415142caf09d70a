"""`.venv` is made when needed, left alone when not, and never trusted when it was not finished."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import (
    environment,
    environment_state,
    horovod_wheel,
    locks,
    prerequisites,
    requirements,
)
from infra.bootstrap.environment import Environment
from infra.bootstrap.environment_state import ForeignEnvironmentError
from tests.places import ROOT

pytestmark = pytest.mark.processes

PACKAGES = (*environment.HELD, environment.LAUNCHER)


@dataclass
class Installer:
    """Stands for the slow commands: venv is real, what pip would install is metadata alone."""

    clone: Path
    steps: list[str] = field(default_factory=list)
    commands: dict[str, Sequence[str]] = field(default_factory=dict)
    failing: str = ""
    environments: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def __call__(self, title: str, command: Sequence[str], log: Path, **how: Any) -> float:
        self.steps.append(log.stem)
        self.commands[log.stem] = command
        self.environments[log.stem] = how.get("environment") or {}
        if log.stem == self.failing:
            raise KeyboardInterrupt
        if log.stem == "venv":
            subprocess.run(command, check=True)
        if log.stem == "launcher":
            for name in PACKAGES:
                note_package(self.clone, name)
        if log.stem == "old-launcher":
            shutil.rmtree(package_folder(self.clone, command[-1]))
        return 0.0


def package_folder(clone: Path, name: str) -> Path:
    site = next((clone / ".venv" / "lib").glob("python*/site-packages"))
    return site / f"{name.replace('-', '_')}-1.0.dist-info"


def note_package(clone: Path, name: str) -> None:
    folder = package_folder(clone, name)
    folder.mkdir(exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (folder / "METADATA").write_text(text)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "requirements.txt").write_text("tensorflow==2.18.1\nhorovod==0.28.1\nclick\n")
    (folder / "requirements-dev.txt").write_text("pytest\n")
    (folder / locks.FOLDER).mkdir()
    for group in (*locks.ENVIRONMENT, locks.HOROVOD, locks.DEVELOPMENT):
        locks.file_of(folder, group).write_text(f"for-{group}==1.0 \\\n    --hash=sha256:00\n")
    with locks.file_of(folder, locks.TRAINING).open("a") as file:
        file.write("horovod==0.28.1 \\\n    --hash=sha256:11\n")
    return folder


@pytest.fixture
def installer(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    stand_in = Installer(clone)

    def fetch_pip(_: Environment) -> None:
        stand_in.steps.append("pip")

    def build(*_: Any) -> Path:
        stand_in.steps.append("horovod")
        return clone / "horovod.whl"

    monkeypatch.setattr(environment, "run_step", stand_in)
    monkeypatch.setattr(Environment, "_fetch_pip", fetch_pip)
    monkeypatch.setattr(horovod_wheel, "build", build)
    return stand_in


def text_of(clone: Path, name: str) -> str:
    return (clone / ".venv" / name).read_text()


def made(clone: Path, tools: bool = False) -> Environment:
    chosen = Environment(clone, clone.parent / "cache")
    chosen.make(tools)
    return chosen


def test_a_fresh_one_gets_tensorflow_before_horovod_is_compiled(
    clone: Path, installer: Installer
) -> None:
    made(clone)

    order = ["venv", "pip", "packages", "horovod", "launcher", "horovod-tried"]
    assert installer.steps == order
    installed = [package.name for package in locks.parse(text_of(clone, "packages.lock"))]
    assert installed == [f"for-{group}" for group in locks.ENVIRONMENT]


def test_nothing_is_installed_that_no_lock_names(clone: Path, installer: Installer) -> None:
    made(clone, tools=True)

    for step in ("packages", "tools"):
        assert "--require-hashes" in installer.commands[step]
    assert {"--no-deps", "--no-build-isolation"} <= set(installer.commands["launcher"])


def test_a_new_lock_is_installed_into_the_same_environment(
    clone: Path, installer: Installer
) -> None:
    made(clone)
    file = locks.file_of(clone, locks.AWS)
    file.write_text(file.read_text().replace("1.0", "1.1"))
    installer.steps.clear()

    assert not Environment(clone, clone / "cache").is_ready(tools=False)
    assert made(clone).is_ready(tools=False)

    assert installer.steps[0] == "packages"
    assert "for-aws==1.1" in text_of(clone, "packages.lock")


def test_a_wheel_that_was_compiled_before_is_used_again(
    clone: Path, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(horovod_wheel, "cached", lambda cache, key: cache / "horovod.whl")

    assert not made(clone).must_compile()

    assert "horovod" not in installer.steps
    assert installer.steps[-2:] == ["launcher", "horovod-tried"]


def test_horovod_is_tried_without_the_users_settings_of_it(
    clone: Path, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOROVOD_CONTROLLER", "mpi")

    made(clone)

    given = installer.environments["horovod-tried"]
    assert [name for name in given if name.startswith("HOROVOD_")] == []


def test_a_second_make_does_nothing(clone: Path, installer: Installer) -> None:
    chosen = made(clone, tools=True)

    assert chosen.is_ready(tools=True)
    assert chosen.is_ready(tools=False)


def test_tools_are_added_to_an_environment_that_has_none(clone: Path, installer: Installer) -> None:
    assert not made(clone).is_ready(tools=True)
    installer.steps.clear()

    assert made(clone, tools=True).is_ready(tools=True)

    assert installer.steps == ["tools"]


def test_new_requirements_are_installed_into_the_same_environment(
    clone: Path, installer: Installer
) -> None:
    made(clone)
    (clone / ".venv" / "mark").touch()
    with (clone / "requirements.txt").open("a") as file:
        file.write("rich\n")
    installer.steps.clear()

    assert not Environment(clone, clone / "cache").is_ready(tools=False)
    assert made(clone).is_ready(tools=False)

    assert "venv" not in installer.steps
    assert "launcher" in installer.steps
    assert (clone / ".venv" / "mark").exists()


def test_a_launcher_under_its_old_name_is_removed_before_the_new_one_comes(
    clone: Path, installer: Installer
) -> None:
    made(clone)
    shutil.rmtree(package_folder(clone, environment.LAUNCHER))
    note_package(clone, environment.OLD_LAUNCHER)
    (clone / "pyproject.toml").write_text('name = "launch-training"')
    installer.steps.clear()

    assert made(clone).is_ready(tools=False)

    assert "venv" not in installer.steps
    assert installer.steps.index("old-launcher") < installer.steps.index("launcher")
    assert not package_folder(clone, environment.OLD_LAUNCHER).exists()


@pytest.mark.parametrize("failing", ["venv", "packages", "launcher", "horovod-tried", "tools"])
def test_one_that_was_interrupted_is_made_anew(
    failing: str, clone: Path, installer: Installer, capsys: pytest.CaptureFixture[str]
) -> None:
    installer.failing = failing
    with pytest.raises(KeyboardInterrupt):
        made(clone, tools=True)
    (clone / ".venv" / "mark").touch()
    installer.failing = ""

    assert not Environment(clone, clone / "cache").is_ready(tools=False)
    assert made(clone, tools=True).is_ready(tools=True)

    assert not (clone / ".venv" / "mark").exists()
    assert "was not finished; it is made anew" in capsys.readouterr().out


def remove_python(folder: Path) -> None:
    (folder / "bin" / "python").unlink()


def remove_a_package(folder: Path) -> None:
    (metadata,) = folder.glob("lib/python*/site-packages/horovod-1.0.dist-info/METADATA")
    metadata.unlink()
    metadata.parent.rmdir()


def note_another_python(folder: Path) -> None:
    rewrite(folder, "python", "3.10.1")


def note_another_place(folder: Path) -> None:
    rewrite(folder, "folder", "/elsewhere/.venv")


def garble_the_state(folder: Path) -> None:
    (folder / environment_state.STATE_FILE).write_text('{"status": "rea')


def rewrite(folder: Path, name: str, value: str) -> None:
    file = folder / environment_state.STATE_FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (remove_python, "does not start"),
        (remove_a_package, "does not start"),
        (note_another_python, "has Python 3.10.1"),
        (note_another_place, "was made at /elsewhere/.venv"),
        (garble_the_state, "was not finished"),
    ],
)
def test_one_that_does_not_fit_is_made_anew(
    damage: Callable[[Path], None],
    said: str,
    clone: Path,
    installer: Installer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = made(clone)
    damage(clone / ".venv")
    installer.steps.clear()

    assert not chosen.is_ready(tools=False)
    assert made(clone).is_ready(tools=False)

    assert installer.steps[0] == "venv"
    assert f"{clone / '.venv'} {said}" in capsys.readouterr().out


def test_one_that_somebody_else_made_is_not_touched(clone: Path, installer: Installer) -> None:
    (clone / ".venv").mkdir()
    (clone / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")

    with pytest.raises(ForeignEnvironmentError, match="was not made by"):
        made(clone)

    assert (clone / ".venv" / "pyvenv.cfg").exists()
    assert installer.steps == []


def test_the_python_is_noted_for_later_goals(clone: Path, installer: Installer) -> None:
    made(clone)

    noted = (clone / ".venv" / environment.PYTHON_FILE).read_text().strip()

    answer = subprocess.run(
        [noted, "-c", "import sys; print(sys.prefix == sys.base_prefix, *sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == ["True", *map(str, sys.version_info[:2])]


def test_an_update_asks_for_less_room_than_a_fresh_one(clone: Path, installer: Installer) -> None:
    chosen = Environment(clone, clone / "cache")
    fresh = chosen.bytes_to_write(tools=False)

    made(clone)

    assert chosen.bytes_to_write(tools=True) < fresh


def test_room_that_a_broken_one_takes_counts_as_free(clone: Path, installer: Installer) -> None:
    chosen = made(clone)
    fresh = prerequisites.ENVIRONMENT_BYTES
    garble_the_state(clone / ".venv")
    with (clone / ".venv" / "large").open("wb") as file:
        file.write(bytes(10**6))

    assert fresh - 10**8 < chosen.bytes_to_write(tools=False) <= fresh - 10**6


def test_two_makes_wait_for_each_other(clone: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from infra.bootstrap.environment import alone\n"
        "with alone(Path(sys.argv[1])): print('mine', flush=True)"
    )
    root = str(ROOT)
    with contextlib.ExitStack() as held:
        held.enter_context(environment.alone(clone))
        other = subprocess.Popen(
            [sys.executable, "-c", program, str(clone)],
            cwd=root,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert other.stdout is not None
        waiting = other.stdout.readline()
        held.close()
    said, _ = other.communicate(timeout=60)

    assert "waiting for it" in waiting
    assert said == "mine\n"


def test_requirement_files_are_where_the_environment_reads_them() -> None:
    root = ROOT

    for name in (requirements.REQUIREMENTS, requirements.DEVELOPMENT, requirements.PROJECT):
        assert (root / name).is_file()

"""`.venv`: made when it is absent or broken, brought up to date when the requirements changed,
left alone when nothing did.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from infra.bootstrap import horovod_wheel, locks, prerequisites, requirements
from infra.bootstrap.environment_state import (
    NOTHING,
    READY,
    UNFINISHED,
    State,
    misfit,
    read,
    write,
)
from infra.bootstrap.pip_settings import PIP_TELLS, pip_environment
from infra.bootstrap.progress import clock, run_step

# Read by the Makefile, so that later goals use the Python that the first one was given.
PYTHON_FILE = "base-python"
# The launcher in pyproject.toml, and its name in an environment that an older clone made.
LAUNCHER, OLD_LAUNCHER = "launch-training", "launch"
# What every environment has beside it.
HELD = ("tensorflow", "tf-keras", "horovod", "pip")
# No line of a program's output: elapsed time says enough.
NO_LINE = "(?!)"


@dataclass(frozen=True)
class Environment:
    """The environment of one clone, for the Python that runs this."""

    root: Path
    cache: Path

    @property
    def folder(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def key(self) -> horovod_wheel.WheelKey:
        """The Horovod that belongs into it."""
        file = self.root / requirements.REQUIREMENTS
        return horovod_wheel.WheelKey(
            horovod=requirements.pin(file, "horovod"),
            tensorflow=requirements.pin(file, "tensorflow"),
            python=sys.version_info[:2],
            machine=horovod_wheel.this_machine(),
        )

    def wanted(self, tools: bool) -> State:
        """The state that it shall have, with or without the development tools."""
        return State(
            status=READY,
            python=".".join(map(str, sys.version_info[:3])),
            base=base_python(),
            folder=str(self.folder),
            packages=requirements.digest(self.root, requirements.REQUIREMENTS),
            tools=requirements.digest(self.root, requirements.DEVELOPMENT) if tools else NOTHING,
        )

    def is_ready(self, tools: bool) -> bool:
        """Whether nothing is to do: it has what is wanted (more tools are fine) and it starts."""
        found, wanted = read(self.folder), self.wanted(tools)
        if found is None:
            return False
        fits = found == (wanted if tools else replace(wanted, tools=found.tools))
        return fits and self._starts()

    def bytes_to_write(self, tools: bool) -> int:
        """How much free room making it takes; what is thrown away first counts as free."""
        found = read(self.folder)
        if found is None:
            return prerequisites.ENVIRONMENT_BYTES
        if not self._misfit(found, self.wanted(tools)):
            return prerequisites.UPDATE_BYTES
        return max(0, prerequisites.ENVIRONMENT_BYTES - _size(self.folder))

    def must_compile(self) -> bool:
        """Whether Horovod would have to be compiled to make it."""
        return horovod_wheel.cached(self.cache, self.key()) is None

    def make(self, tools: bool) -> None:
        """Makes it what is wanted; what is there already is kept where that is safe.

        Raises:
            StepError: A command failed; it has been shown.
            ForeignEnvironmentError: There is a `.venv` that this program did not make.
        """
        started = time.monotonic()
        wanted, found = self.wanted(tools), read(self.folder)
        why = self._misfit(found, wanted) if found else ""
        if why:
            print(f"environment: {self.folder} {why}; it is made anew", flush=True)
            _remove(self.folder)
            found = None
        if found is None:
            self._create(wanted)
        # Until all is there, an interruption leaves an environment that is made anew.
        write(self.folder, replace(wanted, status=UNFINISHED))
        if found is None or found.packages != wanted.packages:
            self._install_packages()
        if wanted.tools != NOTHING:
            self._install_tools()
        write(self.folder, wanted)
        print(f"environment: ready after {clock(time.monotonic() - started)} in {self.folder}")

    def _misfit(self, found: State, wanted: State) -> str:
        """Why what is there cannot be added to, else ""."""
        return misfit(found, wanted) or ("" if self._starts() else "does not start")

    def _starts(self) -> bool:
        """Whether its Python runs and finds its packages' metadata; nothing heavy is imported."""
        return self._has(*HELD, LAUNCHER) or self._has(*HELD, OLD_LAUNCHER)

    def _has(self, *packages: str) -> bool:
        question = (
            "import sys; from importlib.metadata import version; [*map(version, sys.argv[1:])]"
        )
        try:
            answer = subprocess.run([self.python, "-c", question, *packages], capture_output=True)
        except OSError:
            return False
        return answer.returncode == 0

    def _create(self, wanted: State) -> None:
        self.folder.mkdir()
        write(self.folder, replace(wanted, status=UNFINISHED))
        (self.folder / PYTHON_FILE).write_text(f"{base_python()}\n")
        run_step(
            f"Making {self.folder} with Python {wanted.python}",
            [base_python(), "-m", "venv", "--without-pip", str(self.folder)],
            self.logs / "venv.log",
            environment=pip_environment(),
        )
        self._fetch_pip()

    def _fetch_pip(self) -> None:
        """Puts the locked pip into the new environment, by this Python's pip or its ensurepip."""
        base = [base_python(), "-m"]
        has_pip = subprocess.run([*base, "pip", "--version"], capture_output=True).returncode == 0
        wanted = ["--require-hashes", "--requirement", str(locks.file_of(self.root, locks.BUILD))]
        if not has_pip:
            run_step("Making pip", [*base, "venv", str(self.folder)], self.logs / "first-pip.log")
            self._pip("Installing pip", wanted, "pip.log")
            return
        # Debian's pip refuses to install beside the system's packages (PEP 668), but not into a
        # folder; pips before 22.3 cannot install into another Python. So a pip in a folder first,
        # and that one, run by the new environment, installs pip there.
        first = self.folder / "first-pip"
        run_step(
            "Fetching pip",
            [*base, "pip", "install", "--target", str(first), *wanted],
            self.logs / "first-pip.log",
            environment=pip_environment(),
            telling=PIP_TELLS,
        )
        run_step(
            "Installing pip",
            [str(self.python), "-m", "pip", "install", "--ignore-installed", *wanted],
            self.logs / "pip.log",
            environment=pip_environment() | {"PYTHONPATH": str(first)},
            telling=PIP_TELLS,
        )
        shutil.rmtree(first)

    def _install_packages(self) -> None:
        key = self.key()
        packages = locks.read(self.root, *locks.ENVIRONMENT)
        # Horovod is compiled against the TensorFlow that is installed.
        others = [package for package in packages if package.name != "horovod"]
        self._pip(
            f"Installing TensorFlow {key.tensorflow} and the launcher's packages",
            ["--no-deps", *locks.write_part(self.folder / "packages.lock", others)],
            "packages.log",
            expected="a download of about 700 MB",
        )
        wheel = horovod_wheel.cached(self.cache, key)
        if wheel is None:
            scratch = self.folder / "scratch"
            tools = locks.read(self.root, locks.HOROVOD)
            horovod = [package for package in packages if package.name == "horovod"]
            wheel = horovod_wheel.build(
                self.python, key, self.cache, self.logs, scratch, tools, horovod
            )
        else:
            print(f"Horovod {key.horovod}: compiled before, {wheel}", flush=True)
        self._remove_old_launcher()
        # What they need is there, in the locked versions; so is what builds the launcher.
        options = ["--no-deps", "--no-build-isolation", "--force-reinstall"]
        self._pip(
            "Installing the launcher and Horovod",
            [*options, str(wheel), "--editable", str(self.root)],
            "launcher.log",
        )
        self._try_horovod()

    def _remove_old_launcher(self) -> None:
        """First, since both names have the command `launch` and removing one takes it away."""
        if self._has(OLD_LAUNCHER):
            command = [str(self.python), "-m", "pip", "uninstall", "--yes", OLD_LAUNCHER]
            log = self.logs / "old-launcher.log"
            run_step("Removing the launcher under its old name", command, log)

    def _try_horovod(self) -> None:
        users = pip_environment().items()
        kept = {name: value for name, value in users if not name.startswith("HOROVOD_")}
        question = (
            "import horovod.tensorflow.keras as hvd; hvd.init(); assert hvd.size() == 1;"
            "assert hvd.gloo_built(); hvd.shutdown()"
        )
        settings = {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "1"}
        run_step(
            "Trying Horovod",
            [str(self.python), "-c", question],
            self.logs / "horovod-tried.log",
            environment=kept | settings,
            telling=NO_LINE,
        )

    def _install_tools(self) -> None:
        file = locks.file_of(self.root, locks.DEVELOPMENT)
        wanted = ["--no-deps", "--require-hashes", "--requirement", str(file)]
        self._pip("Installing the development tools", wanted, "tools.log")

    def _pip(self, title: str, arguments: list[str], log: str, expected: str = "") -> None:
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        command = [str(self.python), "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
        run_step(
            title,
            [*command, *arguments],
            self.logs / log,
            environment=pip_environment(temporary),
            expected=expected,
            telling=PIP_TELLS,
        )
        shutil.rmtree(temporary, ignore_errors=True)


def base_python() -> str:
    """The interpreter that a new environment comes from, also when this runs inside one."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


@contextlib.contextmanager
def alone(root: Path) -> Iterator[None]:
    """Waits until no other `make` works on this clone's environment, and keeps others out."""
    with (root / ".venv.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("environment: another make is at work here; waiting for it", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _size(folder: Path) -> int:
    """The bytes that ``folder`` takes on disk; what vanishes meanwhile does not count."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
    return total


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder)

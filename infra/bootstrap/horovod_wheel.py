"""Horovod's wheel: compiled once a machine for each TensorFlow and Python, then kept."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.locks import Locked, write_part
from infra.bootstrap.pip_settings import PIP_TELLS, pip_environment
from infra.bootstrap.progress import run_step

# As in requirements/horovod.txt, which says why.
OLDEST_CMAKE, FIRST_CMAKE_REFUSED = (3, 13), (4, 0)
# One compiler process took 1.6 GB on the largest file (g++ 12).
BYTES_A_COMPILER = 2 * 10**9
# What Horovod uses of the processor beyond its baseline, where it has all three.
PROCESSOR_FLAGS = ("f16c", "avx", "fma")


@dataclass(frozen=True)
class WheelKey:
    """What decides whether a compiled Horovod fits."""

    horovod: str
    tensorflow: str
    python: tuple[int, int]
    machine: str
    controllers: tuple[str, ...] = ("gloo",)

    def folder_name(self) -> str:
        """The cache folder's name for it."""
        python = f"cp{self.python[0]}{self.python[1]}"
        controllers = "-".join(self.controllers)
        return (
            f"horovod-{self.horovod}_tensorflow-{self.tensorflow}"
            f"_{python}_{controllers}_{self.machine}"
        )


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where compiled wheels are kept: ``$XDG_CACHE_HOME/launch/wheels``, else below ~/.cache."""
    base = environment.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "launch" / "wheels"


def this_machine() -> str:
    """Processor, the part of its instructions that Horovod uses, and C library: ``x86_64-...``.

    A home folder may be shared by machines that differ in these.
    """
    processor = platform.machine() + ("-avx" if _has_processor_flags() else "")
    return f"{processor}-{''.join(platform.libc_ver())}"


def cached(cache: Path, key: WheelKey) -> Path | None:
    """The wheel for ``key``, when the cache holds a whole one."""
    wheels = sorted((cache / key.folder_name()).glob("horovod-*.whl"))
    return next((wheel for wheel in wheels if _has_tensorflow_support(wheel)), None)


def build(
    python: Path,
    key: WheelKey,
    cache: Path,
    logs: Path,
    scratch: Path,
    build_tools: Sequence[Locked],
    horovod: Sequence[Locked],
) -> Path:
    """Compiles Horovod against the TensorFlow of ``python`` and keeps the wheel in ``cache``.

    Args:
        python: An interpreter with TensorFlow and pip.
        key: What is built.
        cache: The folder of all kept wheels.
        logs: Where the output goes, as build-tools.log and horovod.log.
        scratch: A folder for what the build needs beside itself; removed afterwards.
        build_tools: What the build imports, and CMake.
        horovod: Its source package.

    Raises:
        StepError: A command failed; it has been shown.
        OSError: The cache cannot be written.
    """
    with _empty_folder(scratch):
        tools = scratch / "tools"
        cmake = _system_cmake()
        wanted = [tool for tool in build_tools if not (cmake and tool.name == "cmake")]
        listed = write_part(scratch / "tools.lock", wanted)
        run_step(
            "Fetching Horovod's build tools" + ("" if cmake else " and CMake"),
            [str(python), "-m", "pip", "install", "--target", str(tools), *listed],
            logs / "build-tools.log",
            environment=pip_environment(scratch),
            telling=PIP_TELLS,
        )
        environment = _build_environment(python, key, scratch, cmake)
        # Without pip's own cache: it would hand out a wheel that was built some other way.
        options = ["--verbose", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
        command = [str(python), "-m", "pip", "wheel", *options, "--wheel-dir", str(scratch)]
        run_step(
            f"Compiling Horovod {key.horovod} for TensorFlow {key.tensorflow} and "
            f"Python {'.'.join(map(str, key.python))}, once on this machine",
            [*command, *write_part(scratch / "horovod.lock", horovod)],
            logs / "horovod.log",
            environment=environment,
            expected="2 to 5 minutes on 2 cores",
            telling=r"\[ *\d+%\] ",
        )
        (wheel,) = scratch.glob("horovod-*.whl")
        if not _has_tensorflow_support(wheel):
            raise OSError(f"{wheel.name}: was built without TensorFlow; see {logs / 'horovod.log'}")
        return _keep(wheel, cache / key.folder_name())


def _keep(wheel: Path, folder: Path) -> Path:
    """Puts ``wheel`` into ``folder`` under its name, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(prefix=".partial-", dir=folder)
    try:
        with wheel.open("rb") as source, open(descriptor, "wb") as copy:
            shutil.copyfileobj(source, copy)
            copy.flush()
            os.fsync(copy.fileno())
        os.chmod(partial, 0o644)
        os.replace(partial, folder / wheel.name)
    finally:
        Path(partial).unlink(missing_ok=True)
    return folder / wheel.name


def _has_tensorflow_support(wheel: Path) -> bool:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return any(re.fullmatch(r"horovod/tensorflow/mpi_lib\..*so", name) for name in names)


def _build_environment(python: Path, key: WheelKey, scratch: Path, cmake: str) -> dict[str, str]:
    """The build's environment: the user's, without what would change Horovod behind the key."""
    dropped = ("HOROVOD_", "MAKE", "MFLAGS", "CMAKE_")
    users = pip_environment(scratch).items()
    environment = {name: value for name, value in users if not name.startswith(dropped)}
    tools = scratch / "tools"
    path = [str(tools / "bin"), str(python.parent), environment.get("PATH", os.defpath)]
    flags = [f"-m{flag}" for flag in PROCESSOR_FLAGS] if _has_processor_flags() else []
    return environment | {
        "PATH": os.pathsep.join(path),
        "PYTHONPATH": str(tools),
        "MAKEFLAGS": f"-j{_jobs()}",
        "HOROVOD_CMAKE": cmake or str(tools / "bin" / "cmake"),
        # A space: an empty text would let Horovod look at the processor itself.
        "HOROVOD_BUILD_ARCH_FLAGS": " ".join(flags) or " ",
        # Named, or a build that does not find TensorFlow succeeds without it.
        "HOROVOD_WITH_TENSORFLOW": "1",
        "HOROVOD_WITHOUT_PYTORCH": "1",
        "HOROVOD_WITHOUT_MXNET": "1",
        "HOROVOD_WITH_GLOO" if "gloo" in key.controllers else "HOROVOD_WITHOUT_GLOO": "1",
        "HOROVOD_WITH_MPI" if "mpi" in key.controllers else "HOROVOD_WITHOUT_MPI": "1",
    }


def _system_cmake() -> str:
    """The path of a CMake on PATH that can build Horovod, or an empty text."""
    path = shutil.which("cmake")
    if not path:
        return ""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    found = re.search(r"version (\d+)\.(\d+)", said.stdout)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return path if OLDEST_CMAKE <= version < FIRST_CMAKE_REFUSED else ""


def _has_processor_flags() -> bool:
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return False
    return flags.issuperset(PROCESSOR_FLAGS)


def _jobs() -> int:
    """Compiler processes at once: one a core, as far as the free memory goes."""
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory // BYTES_A_COMPILER))


@contextlib.contextmanager
def _empty_folder(folder: Path) -> Iterator[None]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)

"""The ranks' Python: what it has, and what that was built with. Each library is imported in an
interpreter of its own, so that none of them reaches the launcher."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from dataclasses import dataclass
from typing import Any

from launchers.core.model.findings import Finding, finding, well
from launchers.core.model.problems import Problem, Severity
from launchers.core.prerequisites import IMPORT_SECONDS
from launchers.local.catalogue import RULES
from launchers.local.doctor import pictures
from launchers.local.doctor.machine import said_by
from launchers.machine.devices import visible_gpus
from launchers.machine.python_environment import PythonEnvironment, inspect

_MARK = "LAUNCH "
_HOROVOD = """
import json, horovod.{binding} as hvd
parts = ("gloo", "mpi", "nccl", "ddl", "ccl", "cuda", "rocm")
built = [part for part in parts if getattr(hvd, part + "_built", lambda: False)()]
print("LAUNCH " + json.dumps(built))
"""
_TORCH = """
import json, torch, torch.distributed as dist
there = dist.is_available()
print("LAUNCH " + json.dumps({"distributed": there,
    "gloo": there and getattr(dist, "is_gloo_available", lambda: True)(),
    "nccl": there and dist.is_nccl_available(),
    "mpi": there and dist.is_mpi_available(),
    "cuda": torch.version.cuda or "", "gpus": torch.cuda.device_count()}))
"""
_JAX = """
import json, jax
print("LAUNCH " + json.dumps(sorted({device.platform for device in jax.devices()})))
"""
_PARTS = {
    "gloo": "Gloo",
    "mpi": "MPI",
    "nccl": "NCCL",
    "ddl": "DDL",
    "ccl": "oneCCL",
    "cuda": "CUDA",
    "rocm": "ROCm",
}


class Probed:
    """One interpreter. Each method gives the findings of one check, and may block while the
    interpreter imports something large.

    Args:
        named: ``--python``; else the one that `launch local` would take.
    """

    def __init__(self, named: str | None = None):
        self._named = named
        self._lock = threading.Lock()
        self._known: tuple[PythonEnvironment, list[Problem]] | None = None

    @property
    def _inspected(self) -> tuple[PythonEnvironment, list[Problem]]:
        """Looked at once, by whichever check comes first."""
        with self._lock:
            if self._known is None:
                self._known = inspect(self._named)
            return self._known

    @property
    def _python(self) -> PythonEnvironment:
        return self._inspected[0]

    def interpreter(self) -> list[Finding]:
        """Which it is, and whether anything in it can train."""
        python, problems = self._inspected
        if problems:
            return [finding(one, "ranks' Python") for one in problems]
        found = f"{python.python}, {python.path} ({python.origin})"
        if not any((python.horovod, python.torch, python.tensorflow, python.jax)):
            return [finding(RULES["local-no-strategy"].at("ranks' Python", found))]
        return [well("ranks' Python", found)]

    def horovod(self) -> list[Finding]:
        """Its version, and for each framework the controllers and operations in it."""
        python = self._python
        if not python.python:
            return []
        if not python.horovod:
            others = [one for one in ("torch", "tensorflow", "jax") if getattr(python, one)]
            severity: Severity = "warning" if others else "error"
            problem = RULES["local-no-horovod"].at("Horovod", "not installed", severity=severity)
            return [finding(problem)]
        bindings = [one for one in ("tensorflow", "torch") if getattr(python, one)]
        found = [(one, self._asked(_HOROVOD.format(binding=one))) for one in bindings]
        if not found:
            text = f"{python.horovod}, and neither TensorFlow nor PyTorch"
            return [finding(RULES["local-no-strategy"].at("Horovod", text))]
        # Built for one of two frameworks, it serves that one.
        good = [(one, answer.value) for one, answer in found if answer.value is not None]
        if not good:
            error = found[0][1].error
            return [finding(RULES["local-import"].at("Horovod", f"{python.horovod}: {error}"))]
        return [self._built(one, built) for one, built in good]

    def _built(self, binding: str, built: list[str]) -> Finding:
        with_ = ", ".join(_PARTS.get(one, one) for one in built) or "no controller"
        title = {"tensorflow": "TensorFlow", "torch": "PyTorch"}[binding]
        text = f"{self._python.horovod} for {title}, with {with_}"
        if "gloo" not in built:
            return finding(RULES["horovod-controller"].at("Horovod", text))
        if visible_gpus() and not {"nccl", "rocm"} & set(built):
            expected = "NCCL, for gradients that stay on the GPUs"
            fix = "build it again with HOROVOD_GPU_OPERATIONS=NCCL"
            return finding(RULES["gpu-unused"].at("Horovod", text, expected, fix))
        return well("Horovod", text)

    def tensorflow(self) -> list[Finding]:
        """Its version, and which Keras the ranks get."""
        python = self._python
        if not python.tensorflow:
            return [well("TensorFlow", "not installed")] if python.python else []
        return [well("TensorFlow", python.tensorflow), self._keras(python.tensorflow)]

    def _keras(self, tensorflow: str) -> Finding:
        python, name = self._python, "Keras"
        told = os.environ.get("TF_USE_LEGACY_KERAS")
        set_ = f"; TF_USE_LEGACY_KERAS={told} is set" if told else ""
        has = [f"Keras {python.keras}"] if python.keras else []
        has += [f"tf-keras {python.tf_keras}"] if python.tf_keras else []
        text = (" and ".join(has) or "none of its own") + set_
        if _minor(tensorflow) < (2, 16):
            return well(name, f"{text}; TensorFlow {tensorflow} has Keras 2")
        minor = ".".join(tensorflow.split(".")[:2])
        install = f"{python.path} -m pip install 'tf-keras=={minor}.*'"
        if not python.tf_keras:
            problem = RULES["keras-missing"].at(name, text, fix=install, severity="warning")
            return finding(problem, run=install)
        if _minor(python.tf_keras) != _minor(tensorflow):
            expected = f"tf-keras {minor}"
            problem = RULES["tf-keras-version"].at(name, text, expected, install)
            return finding(problem, run=install)
        return well(name, f"{text}; the plan of a job says which its ranks get")

    def torch(self) -> list[Finding]:
        """Its version, and whether its ranks can meet."""
        python, name = self._python, "PyTorch"
        if not python.torch:
            return [well(name, "not installed")] if python.python else []
        answer = self._asked(_TORCH)
        if answer.value is None:
            return [finding(RULES["local-import"].at(name, f"{python.torch}: {answer.error}"))]
        has = answer.value
        parts = [_PARTS[one] for one in ("gloo", "nccl", "mpi") if has[one]]
        text = f"{python.torch}, " + (f"with {', '.join(parts)}" if parts else "nothing to meet by")
        if not has["gloo"]:
            return [finding(RULES["torch-gloo"].at(name, text))]
        if visible_gpus() and not has["gpus"]:
            why = f"built for CUDA {has['cuda']}" if has["cuda"] else "built without CUDA"
            problem = RULES["gpu-unused"].at(name, f"{text}; {why}", "a build that sees the GPUs")
            return [finding(problem)]
        return [well(name, text)]

    def jax(self) -> list[Finding]:
        """Its version, and what it computes on."""
        python = self._python
        if not python.jax:
            return [well("JAX", "not installed")] if python.python else []
        answer = self._asked(_JAX)
        if answer.value is None:
            return [finding(RULES["local-import"].at("JAX", f"{python.jax}: {answer.error}"))]
        return [well("JAX", f"{python.jax}, on {', '.join(answer.value)}")]

    def pictures(self) -> list[Finding]:
        """What `launch data` would find there."""
        if not self._python.python:
            return []
        answer = self._asked(pictures.PROGRAM)
        return pictures.findings(answer.value) if answer.value is not None else []

    def compiler(self) -> list[Finding]:
        """What compiles Horovod, where that is still to be done."""
        compiler = next((one for one in ("c++", "g++", "clang++") if shutil.which(one)), "")
        others = [one for one in ("make", "cmake") if shutil.which(one)]
        if self._python.horovod:
            text = "Horovod is compiled already"
            return [well("compiler", f"{compiler or 'none'}; {text}")]
        missing = [*([] if compiler else ["c++"]), *({"make", "cmake"} - set(others))]
        if missing:
            found = f"no {', no '.join(sorted(missing))}"
            run = "sudo apt-get install build-essential cmake"
            return [finding(RULES["compiler-missing"].at("compiler", found), run=run)]
        version = said_by(compiler, "--version").partition("\n")[0]
        return [well("compiler", f"{version or compiler}, {', '.join(others)}")]

    def gpus(self) -> list[Finding]:
        """The devices, and what the driver says of them."""
        devices = visible_gpus()
        said = said_by("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
        if not devices and not said:
            return [well("GPUs", "none: ranks run on the CPU")]
        if not said:
            found = f"{len(devices)} devices, and no answer of nvidia-smi"
            return [finding(RULES["gpu-driver"].at("GPUs", found))]
        name, _, driver = said.partition("\n")[0].rpartition(", ")
        many = len(said.splitlines())
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        seen = (
            f"; CUDA_VISIBLE_DEVICES={hidden} leaves {len(devices)}" if hidden is not None else ""
        )
        return [well("GPUs", f"{many} x {name}, driver {driver}{seen}")]

    def _asked(self, program: str) -> _Answer:
        """What a program prints behind the mark, read as JSON."""
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [self._python.path, "-c", program],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=IMPORT_SECONDS - 5,
                stdin=subprocess.DEVNULL,
                env=environment,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return _Answer(error=str(error)[:200])
        lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
        if lines:
            return _Answer(json.loads(lines[-1].removeprefix(_MARK)))
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        return _Answer(error=said[-1][:200] if said else f"it ended with {done.returncode}")


@dataclass(frozen=True)
class _Answer:
    """What an interpreter said.

    Attributes:
        value: None where it did not answer.
        error: Why it did not.
    """

    value: Any = None
    error: str = ""


def _minor(version: str) -> tuple[int, ...]:
    """``(2, 18)`` of ``2.18.1``; empty where it says something else."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else ()

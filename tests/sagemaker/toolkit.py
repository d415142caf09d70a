"""SageMaker's real container toolkit, sagemaker-training 5.1.4, on this machine.

Its code is run, not imitated; toolkit_driver.py says what of it is replaced, and why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchers.core.pipeline import Prepared
from launchers.sagemaker.contract import ROOT, contract
from tests.sagemaker import released

DRIVER = Path(__file__).with_name("toolkit_driver.py")

# Stands first on PATH as `mpirun`: keeps its command line and environment, starts nothing.
_RECORDER = """#!{python}
import json, os, sys
with open({record!r}, "w") as file:
    json.dump({{"command": sys.argv, "environment": dict(os.environ)}}, file)
"""


def installed() -> Path:
    """The folder with the toolkit and what it needs. A C compiler and Python's headers build it
    the first time (Debian: apt-get install gcc python3-dev)."""
    return released.installed("sagemaker-training==5.1.4", "mpi4py==4.1.2")


@dataclass(frozen=True)
class Outcome:
    """How a host's container ended.

    Attributes:
        command: mpirun's whole command line, where the recorder stood for it; None where mpirun
            was never started.
        environment: mpirun's environment then.
    """

    code: int
    output: str
    command: list[str] | None
    environment: Mapping[str, str]

    def option(self, flag: str) -> list[str]:
        """Every value that the command line gives to ``flag``."""
        words = self.command or []
        return [words[at + 1] for at, word in enumerate(words) if word == flag]

    def rank_command(self) -> list[str]:
        """What mpirun would start as each rank, without ``-m mpi4py``, which needs MPI."""
        words = self.command or []
        start = words.index(sys.executable)
        assert words[start + 1 : start + 3] == ["-m", "mpi4py"]
        return [words[start], *words[start + 3 :]]

    def rank_environment(self) -> dict[str, str]:
        """What ``-x`` carries to a rank on any host, and nothing else."""
        environment = {}
        for text in self.option("-x"):
            name, given, value = text.partition("=")
            if given or name in self.environment:
                environment[name] = value if given else self.environment[name]
        return environment


def run(
    prepared: Prepared,
    folder: Path,
    hyperparameters: Mapping[str, str] | None = None,
    real_mpirun: bool = False,
) -> Outcome:
    """The leader's container of a job, as SageMaker starts it, below ``folder`` instead of /.

    Args:
        hyperparameters: Put over those of the request.
        real_mpirun: Start the machine's own, with all ranks on this host.
    """
    document: dict[str, Any] = json.loads(prepared.definition.text)
    document["HyperParameters"] |= hyperparameters or {}
    base = folder / ROOT.lstrip("/")
    # The one place of the request that names the root of the container's file system.
    text = document["HyperParameters"]["sagemaker_submit_directory"]
    document["HyperParameters"]["sagemaker_submit_directory"] = text.replace(ROOT, str(base))
    leader = contract(document)[0]
    for path in leader.folders:
        (base / Path(path).relative_to(ROOT)).mkdir(parents=True, exist_ok=True)
    for path, content in leader.files.items():
        target = base / Path(path).relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        assert isinstance(content, bytes)
        target.write_bytes(_on_this_host(content) if real_mpirun else content)
    code = base / "input/data/code"
    code.mkdir(parents=True, exist_ok=True)
    prepared.bundle.write_tar_gz(code / "sourcedir.tar.gz")
    record, programs = folder / "mpirun.json", folder / "bin"
    if not real_mpirun:
        programs.mkdir(exist_ok=True)
        (programs / "mpirun").write_text(
            _RECORDER.format(python=sys.executable, record=str(record)), encoding="utf-8"
        )
        (programs / "mpirun").chmod(0o755)
    done = subprocess.run(
        # -S: an image has its own TensorFlow; the one of the tests would be imported for nothing.
        [sys.executable, "-S", str(DRIVER)],
        env={
            "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
            "HOME": str(folder),
            "TMPDIR": tempfile.gettempdir(),
            "PYTHONPATH": str(installed()),
            "SAGEMAKER_BASE_DIR": str(base),
            "SM_STUDIO_LOCAL_MODE": "true",  # the toolkit's own switch: no look-up of the hosts
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            **leader.environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=240,
    )
    recorded = json.loads(record.read_text()) if record.exists() else {}
    return Outcome(
        done.returncode, done.stdout, recorded.get("command"), recorded.get("environment", {})
    )


def _on_this_host(content: bytes) -> bytes:
    """A resourceconfig.json whose only host is this machine."""
    return content.replace(b"algo-1", b"localhost").replace(b'"eth0"', b'"lo"')

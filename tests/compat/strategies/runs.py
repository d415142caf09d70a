"""Runs one script under `launch local`, on two hosts, and says what came of it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.benchmarks.measure import CACHE, quiet_environment
from tests.compat.jobs import Outcome, launched
from tests.compat.strategies.cases import Case
from tests.entrypoints.lib.mnist_format import write_data_set
from tests.places import ENTRYPOINTS, ROOT

# What the proof, or the reading of the source, says of ranks that train apart, or on one GPU. A job
# that fails for any other reason was not refused by it.
APART = re.compile(
    r"trained apart|weights differ|never joined|never called|independent copies|world size|"
    r"never initialised|train(?:s|ed) alone|ended before|left .*early|no rank made|"
    r"trained on one GPU"
)
DATA = "digits"  # of our shared scripts: made up, in their working folder
OURS = ("--data", f"mnist-files:{DATA}", "--epochs", "2", "--batch-size", "16", "--validate")
_MAX_RUNTIME = "180s"


@dataclass(frozen=True)
class Found:
    """What came of one script: ``succeeded``, ``refused``, or else, the words, seconds, output."""

    state: str
    words: str
    seconds: float
    log: str = ""


def run(case: Case, python: str) -> Found:
    """Two hosts of ``case.processes`` ranks. Blocks until the job has ended (180 s at most)."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "source"
        source.mkdir()
        _copy(case, source)
        environment = _environment(case, Path(name), python)
        return found_of(launched(_command(case, python), source, environment))


def found_of(outcome: Outcome) -> Found:
    """A failure for the reason that the ranks trained apart is a refusal."""
    state = outcome.state
    if state in ("failed", "exit 2") and APART.search(outcome.words):
        state = "refused"
    return Found(state, outcome.words, outcome.seconds, outcome.log)


def _copy(case: Case, source: Path) -> None:
    shutil.copy(case.file, source)
    if not case.ours:
        shutil.copy(case.file.with_name("toy.py"), source)
        return
    copy_beneath(source)


def copy_beneath(source: Path) -> None:
    """What our shared scripts import, and the small data that they train on (:data:`DATA`)."""
    shutil.copytree(ENTRYPOINTS / "lib", source / "lib")
    draw = np.random.RandomState(7)
    labels = np.arange(600) % 10
    images = draw.randint(0, 100, (600, 8, 8)) + 15 * labels[:, None, None]
    (source / DATA).mkdir()
    write_data_set(source / DATA, (images[:480], labels[:480]), (images[480:], labels[480:]))


def _command(case: Case, python: str) -> list[str]:
    words = [sys.executable, "-m", "launchers.cli.main", "local", case.file.name, "--no-file"]
    words += ["--json", "--instances", "2", "--processes", str(case.processes)]
    words += ["--strategy", case.strategy, "--max-runtime", _MAX_RUNTIME]
    words += ["--python", python]
    return [*words, "--", *OURS] if case.ours else words


def _environment(case: Case, folder: Path, python: str) -> dict[str, str]:
    return quiet_environment(
        LAUNCH_HOME=str(folder / "home"),
        PYTHONPATH=str(ROOT),
        HOME=str(folder),
        ENTRYPOINTS=str(ENTRYPOINTS),
        CUDA_VISIBLE_DEVICES="",
        TF_CPP_MIN_LOG_LEVEL="2",
        HF_HUB_OFFLINE="1",
        # What DeepSpeed compiles at its first start.
        TORCH_EXTENSIONS_DIR=str(CACHE / "torch_extensions"),
        PATH=os.pathsep.join([os.path.dirname(python), os.environ["PATH"]]),
        **dict(case.environment),
    )

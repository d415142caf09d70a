"""Runs one variant of one public script under `launch local` and says what came of it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.benchmarks.measure import quiet_environment
from tests.compat import data, variants
from tests.compat.manifest import NOT_BROADCAST, UNWRAPPED, Script

ROOT = Path(__file__).resolve().parents[2]
SHIM = Path(__file__).with_name("shim")
_MAX_RUNTIME_S = 600


@dataclass(frozen=True)
class Outcome:
    """What came of one run.

    Attributes:
        state: ``succeeded``, ``failed``, ... as `launch local` says it.
        words: The proof's, or the reason of the failure.
        seconds: Wall time of the whole command.
        log: What the command printed, for whoever looks after a surprise.
    """

    state: str
    words: str
    seconds: float
    log: str


def edited(script: Script, sources: dict[str, str], variant: str) -> dict[str, str]:
    """File name -> text for ``variant``; ``sources`` is as it lies in the public repository.

    Raises:
        ValueError: A text to replace does not occur, or the variant changes nothing.
    """
    extra: dict[str, str] = {
        UNWRAPPED: script.unwrapped,
        NOT_BROADCAST: script.not_broadcast,
    }.get(variant, {})
    replace = {**script.replace, **extra}
    missing = [old for old in replace if not any(old in text for text in sources.values())]
    if missing:
        raise ValueError(f"{script.name}: not in the script: {missing}")
    texts = {name: variants.edited(text, replace, script.drop) for name, text in sources.items()}
    take_out = {
        UNWRAPPED: variants.without_wrapping,
        NOT_BROADCAST: variants.without_broadcast,
    }.get(variant)
    if take_out:
        changed = {name: take_out(text) for name, text in texts.items()}
        if changed == texts:
            raise ValueError(f"{script.name}: nothing to take out for: {variant}")
        texts = changed
    for text in texts.values():
        ast.parse(text)
    return texts


def run(script: Script, texts: dict[str, str], python: str | None, images: int) -> Outcome:
    """Two hosts of one rank each. Blocks until the job has ended (600 s at most)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "source"
        source.mkdir()
        for file, text in texts.items():
            (source / file).write_text(text)
        for path, kind in script.data.items():
            data.make(source / path, kind)
        return launched(
            _command(script, source, python), source, _environment(script, folder, images)
        )


def launched(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Outcome:
    """Runs a `launch local --json`. Blocks until the job has ended."""
    begin = time.time()
    done = subprocess.run(
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return outcome_of(done, time.time() - begin)


def _command(script: Script, source: Path, python: str | None) -> list[str]:
    words = [sys.executable, "-m", "launchers.cli.main", "local", PurePosixPath(script.path).name]
    words += ["--no-file", "--json", "--instances", "2", "--processes", "1"]
    words += ["--max-runtime", f"{_MAX_RUNTIME_S}s"]
    if script.requirements:
        wanted = source / "compat-requirements.txt"
        wanted.write_text("".join(f"{package}\n" for package in script.requirements))
        words += ["--requirements", wanted.name]
    if python:
        words += ["--python", python]
    return [*words, *script.flags, "--", *script.arguments]


def _environment(script: Script, folder: Path, images: int) -> dict[str, str]:
    return quiet_environment(
        LAUNCH_HOME=str(folder / "home"),
        PYTHONPATH=os.pathsep.join([str(ROOT), str(SHIM)]),
        PYTHONDONTWRITEBYTECODE="1",
        HOME=str(folder),
        COMPAT_IMAGES=str(images),
        CUDA_VISIBLE_DEVICES="",
        TF_CPP_MIN_LOG_LEVEL="2",
        **script.environment,
    )


def outcome_of(done: subprocess.CompletedProcess[str], seconds: float) -> Outcome:
    """What `launch local --json` said of a job."""
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    if "state" not in answer:
        return Outcome(f"exit {done.returncode}", _last(done.stderr), seconds, done.stderr)
    failure = answer.get("failure") or {}
    words = answer.get("proof") or ""
    if answer["state"] != "succeeded":
        words = answer.get("reason") or failure.get("reason") or _last(done.stderr)
    return Outcome(answer["state"], str(words), seconds, done.stderr)


def _last(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")

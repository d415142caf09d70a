"""The command in a process of its own that starts warm: forked from one that has imported all.

An interpreter's start and its imports cost ten times what most commands do. So one process a test
run imports them once and forks a child a command: its own process id, environment, working folder,
streams and exit code, and none of a cache of ours filled.

``python -m tests.cli.warm`` is that process: a line of JSON on stdin is a command.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.places import ROOT

# What the command imports on use.
_FOREIGN = (
    "boto3",
    "docker",
    "google.auth.transport.requests",
    "google.cloud.aiplatform_v1",
    "google.cloud.storage",
    "google.cloud.storage.retry",
    "jinja2",
    "requests",
    "rich.console",
    "rich.live",
    "rich.table",
    "yaml",
)
# One takes SageMaker's SDK along, the other is a program of a container.
_NEVER = ("launchers.sagemaker.sdk.estimator", "launchers.image.probe_program")
# These change an interpreter before it runs, so it takes one that starts with them.
_READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC", "TZ")


class Ended(NamedTuple):
    """One command that has ended."""

    code: int
    out: str
    err: str


class WarmCommand:
    """Runs commands to their end, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._busy = threading.Lock()

    def start(self) -> None:
        """Start the process that commands are forked from, unless it runs; does not wait."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.warm"],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                # What it says is read by the line, and waited for: nothing is to lie in a buffer.
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
    ) -> Ended | None:
        """Run one; None where it takes an interpreter of its own, or this cannot now.

        Raises:
            subprocess.TimeoutExpired: It was killed.
        """
        ready = self._process is not None and _at_start(environment) == _at_start(os.environ)
        # Coverage of a child's lines is written at the end of an interpreter that began with it.
        covered = any(name.startswith("COVERAGE") for name in environment)
        if covered or not ready or not self._busy.acquire(blocking=False):
            return None
        try:
            with tempfile.TemporaryDirectory(prefix="launch-command-") as streams:
                out, err = Path(streams) / "out", Path(streams) / "err"
                request = {
                    "words": list(words),
                    "folder": str(folder),
                    "environment": dict(environment),
                    "streams": [str(out), str(err)],
                }
                code = self._ask(request, seconds)
                return Ended(code, out.read_text("utf-8"), err.read_text("utf-8"))
        finally:
            self._busy.release()

    def on_terminal(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        columns: int,
        out: str = "",
        seconds: float = 60,
    ) -> tuple[int, str]:
        """Run one on a terminal of its own of so many columns.

        Args:
            out: The file that stdout goes to instead.

        Returns:
            Its exit code, and what stands on the terminal in the end.

        Raises:
            subprocess.TimeoutExpired: It was killed.
        """
        master, slave = os.openpty()
        with self._busy, os.fdopen(master, "rb", buffering=0) as screen:
            request = {
                "words": list(words),
                "folder": str(folder),
                "environment": dict(environment),
                "terminal": os.ttyname(slave),
                "streams": [out] if out else [],
            }
            shown: list[bytes] = []
            reader = threading.Thread(target=_read_all, args=(screen, shown), daemon=True)
            reader.start()
            try:
                fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
                code = self._ask(request, seconds)
            finally:
                # The last one that has it: the reader comes to its end.
                os.close(slave)
                reader.join(seconds)
            return code, b"".join(shown).decode()

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def _ask(self, request: Mapping[str, Any], seconds: float) -> int:
        process = self._process
        assert process
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(request).encode() + b"\n")
        child = int(process.stdout.readline())
        if not select.select([process.stdout], [], [], seconds)[0]:
            os.kill(child, signal.SIGKILL)
            process.stdout.readline()
            raise subprocess.TimeoutExpired(request["words"], seconds)
        return int(process.stdout.readline())


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """What an interpreter reads at its start, our own folder of modules aside."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_START) and value != str(ROOT)
    }


def _read_all(screen: io.FileIO, into: list[bytes]) -> None:
    """What a terminal shows until nobody has it open any more, which reading says with EIO."""
    with suppress(OSError):
        while read := screen.read(65536):
            into.append(read)


def _serve(answers: int) -> dict[str, Any]:
    """Fork a child a line; gives the child its command. The server itself ends here."""
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if child == 0:
            os.close(answers)
            return dict(json.loads(line))
        os.write(answers, f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(request: Mapping[str, Any]) -> None:
    """Take a command's streams, folder, environment and words."""
    if terminal := request.get("terminal"):
        os.setsid()
    # Opened by the leader of a session, it is that session's terminal.
    nothing = os.open(terminal or os.devnull, os.O_RDWR if terminal else os.O_RDONLY)
    for number in (0, 1, 2) if terminal else (0,):
        os.dup2(nothing, number)
    for number, path in enumerate(request["streams"], start=1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.close(nothing)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    tempfile.tempdir = None
    sys.argv = ["launch", *request["words"]]
    sys.path[0] = request["folder"]


def _import_everything() -> None:
    ours = [found.name for found in pkgutil.walk_packages([str(ROOT / "launchers")], "launchers.")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [*_FOREIGN, *ours]:
            if name not in _NEVER:
                importlib.import_module(name)


def _read_shared_source() -> None:
    """What every plan of a shared script finds out about the files that travel with it, which the
    launcher keeps by their bytes."""
    from launchers.core.analysis.python_file import python_file
    from launchers.core.source.credential_files import places_in
    from launchers.core.strategies import joining

    for path in (ROOT / "entrypoints").rglob("*.py"):
        content = path.read_bytes()
        places_in(path.name, content)
        file = python_file(content)
        _ = file.near_imports, [file.holds(one.may_join) for one in joining()]
        if path.name.startswith("train_"):
            _ = file.imports, file.names, file.references


def _leave(code: Any) -> None:
    """End as an interpreter does, without taking everything apart that was imported."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    answering = os.dup(1)
    os.dup2(2, 1)
    _import_everything()
    _read_shared_source()
    gc.collect()
    # Children would copy every page in which a collection counts references.
    gc.freeze()
    _become(_serve(answering))
    from launchers.cli.main import main

    try:
        main()
    except SystemExit as end:
        _leave(end.code)

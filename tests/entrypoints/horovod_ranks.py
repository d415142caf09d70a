"""Real Horovod ranks on this machine for tests: a key/value store and one process a rank."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol

from tests.entrypoints.warm_ranks import WarmPython
from tests.places import ENTRYPOINTS

IMAGE_CLASSIFIER = ENTRYPOINTS / "train_image_classifier.py"
SECONDS = 180.0  # a rank needs about 10; a loaded machine may take many times that
# What a developer's shell or an outer job may have set must not reach the ranks.
FOREIGN = ("HOROVOD_", "OMPI_", "PMI", "SM_", "AIP_", "LAUNCH_", "TF_", "KERAS_", "OMP_")
# Runs where a test uses the fixture `warm_ranks`.
WARM = WarmPython()


class Process(Protocol):
    """A rank that runs."""

    pid: int
    returncode: int | None

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, number: int, /) -> None: ...

    def kill(self) -> None: ...


@dataclass(frozen=True)
class Rank:
    """What one rank left: its exit code (negative for a signal) and its two streams."""

    exit_code: int
    stdout: str
    stderr: str

    def lines(self, beginning: str) -> list[str]:
        """The lines of its standard output that begin so."""
        return [line for line in self.stdout.splitlines() if line.startswith(beginning)]


def run(
    folder: Path,
    arguments: Sequence[str] = (),
    *,
    size: int = 2,
    script: Path = IMAGE_CLASSIFIER,
    environment: Mapping[str, str] | None = None,
    during: Callable[[Sequence[Process], Path], None] | None = None,
    warm: WarmPython | None = WARM,
) -> list[Rank]:
    """Runs ``script`` on ``size`` ranks of one host and waits for all of them.

    Args:
        folder: For their output, rank-0.out and so on; also their working folder.
        arguments: Of the script.
        size: Number of ranks; 1 runs without any of Horovod's variables.
        script: What to run.
        environment: Added to a clean environment.
        during: Called with the running processes and ``folder`` once they have started.
        warm: What the ranks are forked from, where it runs; None for interpreters that start.

    Raises:
        TimeoutError: A rank still ran after SECONDS; it was killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    extra = environment or {}
    with _store() as port:
        processes: list[Process] = []
        try:
            for rank in range(size):
                own = {**clean_environment(), **_horovod(rank, size, port), **extra}
                streams = (folder / f"rank-{rank}.out", folder / f"rank-{rank}.err")
                if warm is not None and warm.takes(own):
                    processes.append(warm.rank(script, arguments, folder, own, streams))
                else:
                    processes.append(_started(script, arguments, folder, own, streams))
            if during:
                during(processes, folder)
            deadline = time.monotonic() + SECONDS
            for process in processes:
                process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{error}\n{_tail(folder, size)}") from error
        finally:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()  # it may have no group of its own yet
                process.wait()
    return [
        Rank(
            process.wait(),
            (folder / f"rank-{rank}.out").read_text(),
            (folder / f"rank-{rank}.err").read_text(),
        )
        for rank, process in enumerate(processes)
    ]


def _started(
    script: Path,
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[Path, Path],
) -> subprocess.Popen[bytes]:
    """A rank in an interpreter that starts for it."""
    with open(streams[0], "wb") as out, open(streams[1], "wb") as err:
        return subprocess.Popen(
            [sys.executable, str(script), *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )


def wait_for(text: str, file: Path, seconds: float = SECONDS) -> None:
    """Returns once ``file`` has ``text`` in it.

    Raises:
        TimeoutError: It has not after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while text not in (file.read_text() if file.exists() else ""):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {text!r} in {file}")
        time.sleep(0.02)


def clean_environment() -> dict[str, str]:
    """This process's environment without what a job or a developer's shell may have set."""
    return {name: text for name, text in os.environ.items() if not name.startswith(FOREIGN)}


def _horovod(rank: int, size: int, port: int) -> dict[str, str]:
    if size == 1:
        return {}
    return {
        "HOROVOD_RANK": str(rank),
        "HOROVOD_SIZE": str(size),
        "HOROVOD_LOCAL_RANK": str(rank),
        "HOROVOD_LOCAL_SIZE": str(size),
        "HOROVOD_CROSS_RANK": "0",
        "HOROVOD_CROSS_SIZE": "1",
        "HOROVOD_HOSTNAME": "test-host",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
        "HOROVOD_GLOO_IFACE": "lo",
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
    }


def _tail(folder: Path, size: int) -> str:
    files = [folder / f"rank-{rank}.{kind}" for rank in range(size) for kind in ("out", "err")]
    return "\n".join(f"{file.name}: {file.read_text()[-2000:]}" for file in files)


@contextlib.contextmanager
def _store() -> Iterator[int]:
    """Horovod's rendezvous: values by path over HTTP, for one static job. Gives the port."""
    values: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            value = values.get(self.path)
            self.send_response(404 if value is None else 200)
            self.send_header("Content-Length", str(len(value or b"")))
            self.end_headers()
            self.wfile.write(value or b"")

        def do_PUT(self) -> None:
            values[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            self._done()

        def do_DELETE(self) -> None:
            self._done()

        def _done(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""Starting entrypoints/convert_images.py and hearing what it says.

The program leads a session of its own: a terminal's Ctrl-C reaches it once, from here, as SIGTERM,
which no shell's background has it ignore. Where the launcher is killed, a lifeline ends it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_JOB_DID_NOT_SUCCEED,
    LaunchError,
)
from launchers.core.paths import entrypoints_folder
from launchers.data.catalogue import RULES
from launchers.data.lifeline import Lifeline
from launchers.data.reading import ended_without_answer

PROGRAM = "convert_images.py"
# What an interrupted conversion may take to end its workers.
_ENDING_SECONDS = 15.0
_LAST_LINES = 20
# A signal that comes just before a wait is heard at its end only.
_WAIT_SECONDS = 0.5

Event = dict[str, Any]


class Conversion:
    """One run of the program; a context manager, at whose end nothing of it is left.

    Args:
        python: That has what the engine needs.
        arguments: IMAGES, OUT and the program's options.
        program: Its file, where that is not the shipped one.
    """

    def __init__(self, python: str, arguments: Sequence[str], program: Path | None = None):
        file = program or entrypoints_folder() / PROGRAM
        self._command = [python, str(file), *arguments, "--events", "json"]
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: deque[str] = deque(maxlen=_LAST_LINES)
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._listeners: list[threading.Thread] = []
        self._lifeline: Lifeline | None = None

    def __enter__(self) -> Conversion:
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            found = f"{self._command[0]} ({error.strerror or error})"
            raise LaunchError(RULES["data-python"].at("--python", found)) from None
        self._lifeline = Lifeline(self._process.pid)
        for hear in (self._hear_events, self._hear_errors):
            listener = threading.Thread(target=hear, daemon=True)
            listener.start()
            self._listeners.append(listener)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self._started()
        try:
            if process.poll() is None and kind is not None:
                self._interrupt(process)
        finally:  # also where the user does not want to wait for its end
            self._kill(process)
            self._join()
            assert self._lifeline is not None
            self._lifeline.cut()
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                with contextlib.suppress(OSError):
                    stream.close()

    def events(self) -> Iterator[Event]:
        """What it says, up to its result, which is the last.

        Raises:
            LaunchError: It said an error, or ended without a result.
        """
        process = self._started()
        started, result = False, False
        while (line := self._line()) is not None:
            event = _parsed(line)
            if event is None:
                self._errors.append(line.decode("utf-8", "replace").rstrip())
                continue
            if event["event"] == "error":
                code = EXIT_JOB_DID_NOT_SUCCEED if started else EXIT_BAD_REQUEST
                message = str(event.get("message", ""))
                # The converter's own errors say what was expected, too.
                found, *expected = re.split("[;,] expected ", message, maxsplit=1)
                problem = RULES["data-conversion"].at(
                    "data parquet", found, expected[0] if expected else None
                )
                raise LaunchError(problem, code)
            started = started or event["event"] == "start"
            result = result or event["event"] == "result"
            yield event
        code = process.wait()
        if code or not result:
            self._join()
            said = next((line for line in reversed(self._errors) if line.strip()), "")
            raise ended_without_answer(PROGRAM, code, said)

    @property
    def last_words(self) -> list[str]:
        """The last lines of what it printed that are no events."""
        return list(self._errors)

    def _started(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _line(self) -> bytes | None:
        """The next line that it says; None at the end."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._lines.get(timeout=_WAIT_SECONDS)

    def _join(self) -> None:
        for listener in self._listeners:
            listener.join()

    def _hear_events(self) -> None:
        """All of it, also what nobody asks for any more: a full pipe would hold the program."""
        stream = self._started().stdout
        assert stream is not None
        with contextlib.suppress(ValueError, OSError):
            for line in stream:
                self._lines.put(line)
        self._lines.put(None)

    def _hear_errors(self) -> None:
        stream = self._started().stderr
        assert stream is not None
        with contextlib.suppress(ValueError, OSError):
            for line in stream:
                self._errors.append(line.decode("utf-8", "replace").rstrip())

    def _interrupt(self, process: subprocess.Popen[bytes]) -> None:
        """Ask it to end, and give it time to."""
        with contextlib.suppress(OSError):
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_SECONDS)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """It and whatever it has started and not ended."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()


def _parsed(line: bytes) -> Event | None:
    """The event of a line; None where it is none: a library may print as well."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None

"""A slow command with its elapsed time on screen, its output in a file, and the end of that file
on screen when it fails.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

# How often elapsed time is shown, in seconds: redrawn on a terminal, a new line in a pipe.
TERMINAL_INTERVAL = 0.5
PIPE_INTERVAL = 15.0
FAILURE_LINES = 25
# How far back a telling line is looked for; a compiler's warnings may fill a lot.
BYTES_LOOKED_AT = 256 * 1024


class StepError(Exception):
    """A command ended with another code than 0; what it said has been shown."""


def run_step(
    title: str,
    command: Sequence[str],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    expected: str = "",
    telling: str = r"\S",
    screen: TextIO = sys.stdout,
) -> float:
    """Runs ``command`` to its end and gives the seconds that it took.

    Args:
        title: What is being done, for a person: "Compiling Horovod 0.28.1".
        command: The command; it gets no standard input.
        log: Where its output goes; the folder is made.
        environment: Its whole environment; this process's where none is given.
        folder: Its working folder.
        expected: How long it usually takes, for a person: "about 5 minutes on 2 cores".
        telling: A pattern of the output's lines that say how far it is; the newest is shown.
        screen: Where progress goes.

    Raises:
        StepError: It ended with another code than 0. The end of its output and the path of the
            whole have been shown.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the command and its children have been ended.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"{title}{f' ({expected})' if expected else ''}", file=screen, flush=True)
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            code = _show_until_end(process, telling, log, started, screen)
        except BaseException:
            _end_group(process)
            raise
    seconds = time.monotonic() - started
    if code != 0:
        print(f"{title}: failed after {clock(seconds)}", file=screen)
        print(_tail(log), file=screen)
        print(f"(exit code {code}; the whole output: {log})", file=screen, flush=True)
        raise StepError(title)
    print(f"  done in {clock(seconds)}", file=screen, flush=True)
    return seconds


def clock(seconds: float) -> str:
    """``seconds`` as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _show_until_end(
    process: subprocess.Popen[bytes], telling: str, log: Path, started: float, screen: TextIO
) -> int:
    terminal = screen.isatty()
    interval = TERMINAL_INTERVAL if terminal else PIPE_INTERVAL
    while True:
        try:
            code = process.wait(timeout=interval)
        except subprocess.TimeoutExpired:
            line = f"  {clock(time.monotonic() - started)}  {_last_line(log, telling)}"
            width = shutil.get_terminal_size().columns - 1 if terminal else 110
            end = "" if terminal else "\n"
            print(f"{_start_of_line(terminal)}{line[:width]}", end=end, file=screen, flush=True)
        else:
            print(_start_of_line(terminal), end="", file=screen, flush=True)
            return code


def _start_of_line(terminal: bool) -> str:
    """On a terminal: back to the first column, and what stood there erased."""
    return "\r\x1b[K" if terminal else ""


def _last_line(log: Path, telling: str) -> str:
    """The newest telling line of a growing file, without what would move the cursor."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - BYTES_LOOKED_AT))
        lines = file.read().decode("utf-8", "replace").replace("\r", "\n").split("\n")
    newest = next((line for line in reversed(lines) if re.search(telling, line)), "")
    return "".join(character for character in newest.strip() if character.isprintable())


def _tail(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()[-FAILURE_LINES:]
    return "\n".join(f"  | {line}" for line in lines)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the command with everything that it started; they share a session of their own."""
    for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            continue

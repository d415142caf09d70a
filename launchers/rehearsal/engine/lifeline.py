"""What a killed launcher cannot do any more: a process beside it that removes its rehearsal.

    python -m launchers.rehearsal.engine.lifeline ID

It reads standard input, whose other end the launcher alone holds. The launcher says so where it has
removed everything itself; where that end closes without the word, the launcher was killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from launchers.rehearsal.engine.labels import Labels

_WORD = b"removed"
_END_SECONDS = 5.0
# The engine may still carry out what the launcher asked for last.
_LOOKS, _APART_SECONDS = 3, 1.0


class Lifeline:
    """Started before anything that it may have to remove; :meth:`cut` when all of it is gone."""

    def __init__(self, labels: Labels):
        root = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "launchers.rehearsal.engine.lifeline", labels.id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what ends the launcher's group leaves it alone
            cwd="/",
            env={**os.environ, "PYTHONPATH": path},
        )

    def cut(self) -> None:
        """It has nothing to do any more, and ends. Safe to repeat."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended; it was cut before
            stdin.write(_WORD)
            stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Wait for the launcher's word or its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != _WORD:
        _remove(sys.argv[1])


def _remove(identifier: str) -> None:
    from launchers.core.model.problems import LaunchError
    from launchers.docker.engine import engine
    from launchers.rehearsal.engine import leftovers
    from launchers.rehearsal.engine.workplace import Workplace

    labels = Labels(identifier, "", "", "", 0.0)
    Workplace(labels).remove()
    try:
        client = engine()
    except LaunchError:
        return
    for look in range(_LOOKS):
        if look:
            time.sleep(_APART_SECONDS)
        leftovers.remove_all(client, labels)


if __name__ == "__main__":
    main()

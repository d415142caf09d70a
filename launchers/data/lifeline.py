"""What a killed launcher cannot do any more: a process beside it that ends its conversion.

    python lifeline.py GROUP

reads standard input, whose other end the launcher alone holds. The launcher says so where it has
seen the conversion's end itself; where that end closes without the word, it was killed, and the
process group is killed too. Standard library alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

_WORD = b"ended"
_END_SECONDS = 5.0


class Lifeline:
    """Of one process group; :meth:`cut` when it has ended. Nothing where a system has no groups."""

    def __init__(self, group: int):
        self._process: subprocess.Popen[bytes] | None = None
        if hasattr(os, "killpg"):
            self._process = subprocess.Popen(
                [sys.executable, "-S", str(Path(__file__).resolve()), str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what ends the launcher's group leaves it alone
                cwd="/",
            )

    def cut(self) -> None:
        """It has nothing to do any more, and ends."""
        if self._process is None:
            return
        try:
            self._process.communicate(_WORD, timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Wait for the launcher's word or its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != _WORD:
        with contextlib.suppress(OSError):
            os.killpg(int(sys.argv[1]), signal.SIGKILL)


if __name__ == "__main__":
    main()

"""`make demo` once the environment is there: trains on two hosts of one rank, and judges it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.bootstrap.progress import clock

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = "entrypoints/train_image_classifier.py"
TWO_HOSTS = ("--instances", "2", "--processes", "1")
ARGUMENTS = ("local", SCRIPT, "--no-file", *TWO_HOSTS, "--", "--data", "digits")
# --json takes its place before the `--`; it is left out of what is shown.
LEAST_ACCURACY = 0.95
# The active environment's Python would run the ranks, and it may have no Horovod.
FOREIGN = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME")


def main() -> int:
    """Runs the demo; 0 when it was proven and accurate enough, else 1 or the job's own code."""
    started = time.monotonic()
    print(f"\n$ .venv/bin/launch {' '.join(ARGUMENTS)}", flush=True)
    command = [str(ROOT / ".venv" / "bin" / "launch"), ARGUMENTS[0], "--json", *ARGUMENTS[1:]]
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: process.terminate())
    said = _output(process)
    if process.returncode != 0:
        print(f"demo: failed: launch ended with exit code {process.returncode}", file=sys.stderr)
        return process.returncode
    lines, good = verdict(json.loads(said))
    print("\n" + "\n".join(lines))
    print(f"  took     {clock(time.monotonic() - started)}", flush=True)
    return 0 if good else 1


def verdict(answer: Mapping[str, Any]) -> tuple[list[str], bool]:
    """What to say of the job that ``launch local --json`` described, and whether it is good."""
    found = re.match(r"test accuracy ([0-9.]+)", answer.get("result") or "")
    accuracy = float(found[1]) if found else 0.0
    good = answer.get("state") == "succeeded" and accuracy > LEAST_ACCURACY
    word = "done" if good else "failed"
    lines = [
        f"demo: {word}",
        f"  proof    {answer.get('proof') or 'none'}",
        f"  accuracy {accuracy:.4f} on the test images, expected more than {LEAST_ACCURACY}",
        f"  model    {answer.get('folder')}/model",
        f"  logs     {answer.get('folder')}/logs",
    ]
    return lines, good


def _output(process: subprocess.Popen[bytes]) -> bytes:
    """What the command writes, when it has ended; an interruption is the command's to handle."""
    while True:
        try:
            return process.communicate()[0]
        except KeyboardInterrupt:
            continue


if __name__ == "__main__":
    sys.exit(main())

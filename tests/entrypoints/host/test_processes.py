from __future__ import annotations

import os
import subprocess
import sys
import uuid

from tests.places import ENTRYPOINTS
from tests.waiting import processes_with, until

# A process that leaves its session and its parent, and one that stays.
LEAVES_BEHIND = """
import os, subprocess, sys
sys.path.insert(0, {entrypoints!r})
from launch_runtime.host import processes
processes.adopt_orphans()
sleeper = [sys.executable, "-c", "import time; time.sleep(1000)"]
parent = subprocess.Popen(
    [sys.executable, "-c",
     "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True)", *sleeper])
parent.wait()
child = subprocess.Popen(sleeper)
print(len(processes.descendants(os.getpid())), flush=True)
sys.stdin.readline()
print(processes.end_descendants(10), processes.descendants(os.getpid()), flush=True)
"""


def test_what_left_its_group_and_its_parent_is_found_and_ended() -> None:
    mark = uuid.uuid4().hex
    with subprocess.Popen(
        [sys.executable, "-c", LEAVES_BEHIND.format(entrypoints=str(ENTRYPOINTS))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "MARK": mark},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "2\n"
        # A program that has just begun has no environment for a moment.
        until(lambda: len(processes_with(f"MARK={mark}")) == 3)
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "[] []\n"
        # It may have ended, too.
        assert set(processes_with(f"MARK={mark}")) <= {process.pid}

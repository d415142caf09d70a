"""The agent: one process a host, which starts the ranks of a Horovod job without ssh.

    python agent.py SCRIPT|-m MODULE [ARGUMENTS...]

It meets the agents of the other hosts, starts LAUNCH_PROCESSES guards with SCRIPT in them, passes
their output on in whole tagged lines, ends all ranks of all hosts when one of them fails, and
leaves with one exit code. What it is told stands in its environment (launch_runtime/host/).
"""

from __future__ import annotations

import os
import sys

ENTRYPOINTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, ENTRYPOINTS)

from launch_runtime.host.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], ENTRYPOINTS))

"""`python3 -m infra.bootstrap GOAL`: what the Makefile runs.

Goals: `check` names what this machine lacks; `environment` makes `.venv`; `tools` adds what tests,
lint and types need. Exit codes: 0 done, 1 a step failed, 2 something is missing, 130 interrupted.

Like prerequisites.py, this file is read by whatever `python3` the machine has: Python 3.6's syntax.
"""

import os
import signal
import sys

from infra.bootstrap import prerequisites

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOALS = ("check", "environment", "tools")


def main(arguments: "list[str]") -> int:
    """Runs one goal and gives the exit code."""
    if len(arguments) != 1 or arguments[0] not in GOALS:
        print(f"usage: python3 -m infra.bootstrap {'|'.join(GOALS)}", file=sys.stderr)
        return 2
    if prerequisites.python_problem(tuple(sys.version_info[:3]), "", []):
        return report(prerequisites.missing(ROOT, prerequisites.ENVIRONMENT_BYTES, True))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        return reach(arguments[0])
    except KeyboardInterrupt:
        print("\ninterrupted; run it again to go on", file=sys.stderr)
        return 130


def reach(goal: str) -> int:
    """Checks this machine and then does what ``goal`` names; for Python 3.10 and newer."""
    from pathlib import Path

    from infra.bootstrap.environment import Environment, alone
    from infra.bootstrap.environment_state import ForeignEnvironmentError
    from infra.bootstrap.horovod_wheel import cache_folder
    from infra.bootstrap.progress import StepError

    environment = Environment(Path(ROOT), cache_folder(os.environ))
    tools = goal == "tools"
    try:
        if environment.is_ready(tools):
            return 0
        problems = prerequisites.missing(
            ROOT, environment.bytes_to_write(tools), environment.must_compile()
        )
        if problems or goal == "check":
            return report(problems)
        with alone(environment.root):
            if not environment.is_ready(tools):
                environment.make(tools)
    except StepError:
        return 1
    except (ForeignEnvironmentError, OSError) as error:
        return report([str(error)])
    return 0


def report(problems: "list[str]") -> int:
    """Prints what is missing, one line each, and gives the exit code."""
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print("nothing was downloaded or changed", file=sys.stderr)
    return 2 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

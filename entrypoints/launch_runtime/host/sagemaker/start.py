"""What an agent does on a host of SageMaker before it is like any other, and after."""

from __future__ import annotations

import os
import signal
import sys
from typing import Callable, Mapping, NamedTuple, Sequence

from launch_runtime import environment as env
from launch_runtime import lines
from launch_runtime.environment import SettingError
from launch_runtime.failures import Failure
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.sagemaker import entry_scripts
from launch_runtime.host.sagemaker.tree import ROOT, Tree, write_failure
from launch_runtime.host.sagemaker.variables import variables

# Stands before the folder in the agent's arguments, in the place of a script.
FLAG = "--sagemaker"
# SIGKILL comes 120 s after SIGTERM (developer guide, StopTrainingJob; managed spot training says
# no more). The rest is for the last words.
_STOP_SECONDS = "100"
_STOPPED = 128 + signal.SIGTERM


class End(NamedTuple):
    """How an agent's job ended: what it leaves with, and why where that was no success."""

    code: int
    failure: Failure | None


# What every agent does: a script with its arguments, the folder of agent.py, and who the hosts are.
Run = Callable[[Sequence[str], str, Callable[[Mapping[str, str]], Cluster]], End]


def main(arguments: Sequence[str], entrypoints: str, run: Run) -> int:
    """Runs this host's part of a training job; blocks until all hosts know its end.

    Args:
        arguments: The service's folder, ``/opt/ml``.
        entrypoints: The folder of agent.py and guard.py.

    Returns:
        The exit code.
    """
    # As process 1 of a container it would not be ended by a signal that nobody handles.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_STOPPED))
    root = arguments[0] if arguments else ROOT
    words: Sequence[str] = ()
    problem: SettingError | None = None
    try:
        tree = Tree(root)
        words = tree.words()
        _settle(tree, words, env.source_folder(os.environ, entrypoints))
    except SettingError as error:
        problem = error

    def find(environment: Mapping[str, str]) -> Cluster:
        if problem is not None:
            raise problem
        return tree.cluster()

    try:
        end = run(words, entrypoints, find)
    except Exception as error:
        write_failure(root, f"launch's agent failed: {type(error).__name__}: {error}")
        raise
    if end.code and end.failure is not None and not end.failure.stop:
        write_failure(root, words_of(end.failure))
    return end.code


def _settle(tree: Tree, words: Sequence[str], source: str) -> None:
    """The environment that a script for SageMaker expects, and what the image would have set."""
    os.environ.update(entry_scripts.run(os.environ, _say))
    os.environ.update(variables(tree, words[2:] if words[0] == "-m" else words[1:], source))
    os.environ.setdefault("LAUNCH_STOP_SECONDS", _STOP_SECONDS)


def words_of(failure: Failure) -> str:
    """What DescribeTrainingJob shows: who failed first, why, and what to change."""
    fix = f"; fix: {failure.fix}" if failure.fix else ""
    return lines.one_line(failure.sentence() + fix, limit=1000)


def _say(text: str) -> None:
    print(lines.message(text), flush=True)

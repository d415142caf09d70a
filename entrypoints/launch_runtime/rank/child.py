"""Keeps the watch on the world and the training in Python processes that the script starts.

A forked child has it anyway. One that is started anew (``spawn``, subprocess) imports the
``sitecustomize`` in ``child_hook``, which the guard puts on PYTHONPATH, and finds here what the
rank was given.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from typing import MutableMapping

from launch_runtime import strategies
from launch_runtime.rank import exit_hook, keras_choice, world_check
from launch_runtime.rank.identity import AGENT, Place, Promise
from launch_runtime.rank.reporter import Reporter
from launch_runtime.rank.training_watch import TrainingWatch
from launch_runtime.rank.world_check import Given
from launch_runtime.strategies.strategy import Strategy

VARIABLE = "LAUNCH_RANK_GIVEN"


def hand_down(
    environment: MutableMapping[str, str],
    given: Given,
    strategy: Strategy,
    reporter: Reporter,
    evidence: bool,
    entrypoints: str,
) -> None:
    """Puts into ``environment`` what children of the script need to be watched.

    Args:
        environment: That they inherit.
        given: What the rank was given.
        strategy: The job's.
        reporter: The guard's. Of the job's nonce children get the stamp alone, and that only
            where no agent prints for them.
        evidence: Whether their training is watched.
        entrypoints: The folder of guard.py.
    """
    environment[VARIABLE] = json.dumps(
        {
            "strategy": strategy.name,
            "promise": given.promise,
            "place": given.place,
            "variables": given.variables,
            "guard": given.guard,
            "state": reporter.state_path,
            "stamp": reporter.stamp,
            "evidence": evidence,
        }
    )
    folder = os.path.join(entrypoints, "launch_runtime", "child_hook")
    own = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([folder, own] if own else [folder])


def watch() -> None:
    """Called in such a child before anything else of its own."""
    fields = json.loads(os.environ[VARIABLE])
    given = Given(
        Promise(*fields["promise"]), Place(*fields["place"]), fields["variables"], fields["guard"]
    )
    reporter = Reporter(
        fields["state"],
        rank=given.place.rank,
        host=given.place.host,
        stamp=fields["stamp"],
        under_agent=given.place.by == AGENT,
        guard=given.guard,
    )
    reporter.script_runs = True
    strategy = strategies.named(fields["strategy"])
    training = TrainingWatch(reporter, fields["evidence"], given.guard, strategy)
    check = world_check.watch(given, reporter, strategy, training)
    if strategy.settles_keras:
        keras_choice.in_child(os.environ, reporter, check.end if given.promise.size > 1 else None)
    if not fields["evidence"]:
        return

    def before_exit(status: int) -> int:
        training.finish(status)
        return status

    exit_hook.install(before_exit)
    # What Python ends with is not known here, but for an error that nobody caught.
    atexit.register(lambda: training.finish(1 if hasattr(sys, "last_type") else 0))

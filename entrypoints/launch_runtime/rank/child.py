"""Keeps the watch on ``hvd.init()`` in Python processes that the script starts.

A forked child has it anyway. One that is started anew (``spawn``, subprocess) imports the
``sitecustomize`` in ``child_hook``, which the guard puts on PYTHONPATH, and finds here what the
rank was given.
"""

from __future__ import annotations

import json
import os
from typing import MutableMapping

from launch_runtime.rank import horovod_hook
from launch_runtime.rank.identity import Place, Promise
from launch_runtime.rank.init_check import Given, InitCheck
from launch_runtime.rank.reporter import Reporter

VARIABLE = "LAUNCH_RANK_GIVEN"


def hand_down(
    environment: MutableMapping[str, str], given: Given, state_path: str, entrypoints: str
) -> None:
    """Puts into ``environment`` what children of the script need to be watched."""
    environment[VARIABLE] = json.dumps(
        {
            "promise": given.promise,
            "place": given.place,
            "variables": given.variables,
            "guard": given.guard,
            "state": state_path,
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
    reporter = Reporter(fields["state"], rank=given.place.rank, host=given.place.host)
    reporter.script_runs = True
    check = InitCheck(given, reporter)
    horovod_hook.install(check.before, check.after)

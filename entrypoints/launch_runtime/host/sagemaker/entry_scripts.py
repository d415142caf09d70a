"""What an image runs before anything else: done here too, since a request that names its own
entry point takes the place of the image's.

entry_scripts.json has the scripts of AWS's images, and what of each is done here.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Callable, Mapping

_TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "entry_scripts.json")
_SECONDS = 60.0  # a script that hangs, on a driver that does, keeps no job from starting
# The script's own words go to standard error; what it has exported is printed behind them.
_RUN = '. "$0" >&2 </dev/null; printf %s "$LD_LIBRARY_PATH"'
_VARIABLE = "LD_LIBRARY_PATH"


def run(
    environment: Mapping[str, str], say: Callable[[str], None], folder: str = ""
) -> dict[str, str]:
    """Runs those that the image has; blocks until they end, a minute each at the most.

    AWS's own entry points start the script for CUDA's compatibility in a shell of its own, where
    what it exports is lost; here it counts for the ranks.

    Args:
        environment: Of the agent.
        say: Prints a line for people.
        folder: Where they lie, where that is not the table's folder.

    Returns:
        The variables that they have changed.
    """
    with open(_TABLE, encoding="utf-8") as file:
        table = json.load(file)
    changed: dict[str, str] = {}
    for name in table["sourced"]:
        path = os.path.join(folder or table["folder"], name)
        if os.path.isfile(path):
            changed.update(_sourced(path, {**environment, **changed}, say))
    return changed


def _sourced(
    path: str, environment: Mapping[str, str], say: Callable[[str], None]
) -> dict[str, str]:
    try:
        done = subprocess.run(
            ["bash", "-c", _RUN, path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environment),
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        say(f"warning: {path} of this image did not run: {error}")
        return {}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        say(f"warning: {path} of this image ended with code {done.returncode}: {last}")
        return {}
    value = done.stdout
    if value == environment.get(_VARIABLE, ""):
        return {}
    say(f"{path} of this image: {_VARIABLE}={value}")
    return {_VARIABLE: value}

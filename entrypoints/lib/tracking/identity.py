"""What a tracked run is: its key over restarts, the launcher's tags, and what proves its world."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import platform
import sys
import uuid
from typing import Mapping, Sequence

from .. import storage

# Of the launcher: one JSON object of texts (launchers/core/planning/rank_environment.py).
TAGS_VARIABLE = "LAUNCH_TAGS"
CONTEXT_VARIABLE = "MLFLOW_RUN_CONTEXT"  # MLflow's: more tags, as a JSON object
PREFIX = "launch."
KEY_FILE = "tracking.json"


def run_key(checkpoint_folder: str | None) -> str:
    """The run's own mark: that of the training whose checkpoints lie there, else a new one.

    A new one is written into the folder, so that a start after it goes on with the same run. Where
    it cannot be written or read, the run is a new one.
    """
    path = storage.join(checkpoint_folder, KEY_FILE) if checkpoint_folder else ""
    if path:
        try:
            found = json.loads(storage.read(path).decode("utf-8"))["run"]
            if isinstance(found, str) and found.isalnum():
                return found
        except (OSError, ValueError, KeyError, TypeError):
            pass
    key = uuid.uuid4().hex
    if path:
        with contextlib.suppress(OSError):
            storage.write_whole(path, json.dumps({"run": key}).encode("utf-8") + b"\n")
    return key


def launch_tags(environment: Mapping[str, str]) -> dict[str, str]:
    """Job, provider, machine, world size and source hash, as the launcher says them; without a
    launcher what is known here."""
    tags = {"machine": platform.node()}
    try:
        told = json.loads(environment.get(TAGS_VARIABLE, "{}"))
        tags.update({str(name): str(text) for name, text in told.items()})
    except (ValueError, AttributeError):
        pass  # set by somebody else
    # A rehearsal with fewer ranks changes this one alone.
    tags["world_size"] = environment.get("LAUNCH_WORLD_SIZE") or tags.get("world_size", "")
    ours = {PREFIX + name: text for name, text in tags.items() if text}
    return {**_of_mlflow(environment), **ours}


def _of_mlflow(environment: Mapping[str, str]) -> dict[str, str]:
    """What MLflow's own ``start_run`` says of a run, from which its page has user and source."""
    tags = {"mlflow.source.name": os.path.basename(sys.argv[0]), "mlflow.source.type": "LOCAL"}
    with contextlib.suppress(KeyError, OSError, ImportError):  # a container's user may have no name
        tags["mlflow.user"] = getpass.getuser()
    with contextlib.suppress(ValueError, AttributeError):
        told = json.loads(environment.get(CONTEXT_VARIABLE, "{}"))
        tags.update({str(name): str(text) for name, text in told.items()})
    return tags


def run_name(environment: Mapping[str, str], key: str) -> str:
    """The job's name; where no launcher gave it one, the script's with the run's key.

    MLflow's client would draw a name from the generator that the training has seeded, and give
    each run of a seed the same.
    """
    script = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    return environment.get("LAUNCH_JOB") or f"{script}-{key[:8]}"


def host_of_rank(environment: Mapping[str, str]) -> str:
    """The host that this rank is on, by the name that the guard has for it."""
    return environment.get("LAUNCH_HOST") or environment.get("SM_CURRENT_HOST") or platform.node()


def proof_tags(hosts: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The world that the ranks have really made, in the words of the guard's proof.

    Args:
        hosts: Of each rank, by rank.
        environment: Of rank 0.
    """
    names = list(dict.fromkeys(hosts))
    ranks = {name: [str(i) for i, host in enumerate(hosts) if host == name] for name in names}
    each = sorted({len(found) for found in ranks.values()})
    layout = "{} x {}".format(
        _count(len(names), "host"),
        _count(each[0], "rank") if len(each) == 1 else f"{each[0]} to {each[-1]} ranks",
    )
    tags = {
        "world": f"world size {len(hosts)}: {layout}",
        "ranks": "; ".join(f"{name}: {', '.join(found)}" for name, found in ranks.items()),
        "promised": environment.get("LAUNCH_WORLD_SIZE", ""),
        "mode": environment.get("LAUNCH_PROOF", ""),
    }
    return {f"{PREFIX}proof.{name}": text for name, text in tags.items() if text}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

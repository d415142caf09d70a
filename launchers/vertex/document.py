"""Reading and writing a CustomJob: what stands where, what the service does to a text, and how the
code gets into a replica."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from launchers.core.model.document import at
from launchers.core.paths import templates_folder

# Where the service mounts every bucket in every replica.
MOUNT = "/gcs/"
SCHEME = "gs://"
# Stands before a module's name in the place of a script.
MODULE_FLAG = "-m"
DIGEST_LABEL = "launch-digest"
RUN_LABEL = "launch-run"
WORLD_SIZE_LABEL = "launch-world-size"
OUR_LABELS = "launch-"
# Pools by their place in workerPoolSpecs.
CHIEF, WORKERS = 0, 1

PLACEHOLDER_IMAGE = "us-docker.pkg.dev/placeholder-project/placeholder/launch-horovod:placeholder"
# Registries that answer to nobody without an account of theirs, and this machine's own.
CLOSED = re.compile(r".*\.amazonaws\.com|.*\.azurecr\.io|localhost|127\..*|.*\.local|.*\.internal")
# What stands for a reservation's name where any will do.
ANY_RESERVATION = "any"
BOOT_DISK_TYPES = ("pd-ssd", "pd-standard", "hyperdisk-balanced")
BOOT_DISK_GB = (100, 64_000)


@lru_cache(maxsize=1)
def bootstrap() -> str:
    """The program that unpacks the bundle in a replica and starts the agent."""
    return (templates_folder() / "vertex" / "bootstrap.py").read_text(encoding="utf-8")


def mounted(place: str) -> str:
    """``gs://bucket/folder`` as a replica sees it, ``/gcs/bucket/folder``."""
    return MOUNT + place.removeprefix(SCHEME) if place.startswith(SCHEME) else place


def stored(place: str) -> str:
    """``/gcs/bucket/folder`` as everybody else names it, ``gs://bucket/folder``."""
    return SCHEME + place.removeprefix(MOUNT) if place.startswith(MOUNT) else place


def seconds_of(duration: object) -> float | None:
    """Seconds of a Duration as Google's JSON has it, ``"3600s"``; None for anything else."""
    text = duration if isinstance(duration, str) else ""
    whole = re.fullmatch(r"-?\d{1,12}(\.\d{1,9})?s", text, re.ASCII)
    return float(text[:-1]) if whole else None


def words(program: Sequence[str], arguments: Sequence[str]) -> str:
    """The script, or ``-m`` and a module, with the arguments as one word of ``args``: a JSON list
    in ASCII without ``$``, since the service may put a variable's value for ``$(NAME)``."""
    return json.dumps([*program, *arguments]).replace("$", "\\u0024")


def words_of(args: Sequence[str]) -> list[str]:
    """The script and its arguments in the ``args`` of a container that starts our agent; empty
    where they are something else."""
    try:
        found = json.loads(args[2]) if len(args) == 3 else None
    except (ValueError, TypeError):
        found = None
    if isinstance(found, list) and all(isinstance(word, str) for word in found):
        return found
    return []


def script_of(document: object) -> str | None:
    """The script that a CustomJob of ours starts; None for a module and for any other."""
    found = words_of(_bootstrap_args(document))
    return found[0] if found and found[0] != MODULE_FLAG else None


def escaped(value: str) -> str:
    """A variable's value with every ``$(`` made ``$$(``: the service expands ``$(NAME)`` in values
    and leaves ``$$(NAME)`` as ``$(NAME)`` (EnvVar.value of the API)."""
    return re.sub(r"\$+(?=\()", lambda signs: signs[0] * 2, value)


def is_ours(document: object) -> bool:
    """Whether the first pool starts our agent."""
    command = at(_chief(document), "containerSpec", "command")
    return bool(command == ["python3", "-c", bootstrap()])


def bundle_place(document: object) -> str:
    """``gs://bucket/launch/code/SHA256/sourcedir.tar.gz``; empty for one that is not ours."""
    args = _bootstrap_args(document)
    return stored(args[0]) if args else ""


def _bootstrap_args(document: object) -> list[str]:
    """The three words that our bootstrap gets: bundle, hash, script with its arguments."""
    args = at(_chief(document), "containerSpec", "args")
    is_list = isinstance(args, list) and all(isinstance(word, str) for word in args)
    return list(args) if is_list and is_ours(document) else []


def _chief(document: object) -> Mapping[str, Any]:
    pools = at(document, "jobSpec", "workerPoolSpecs")
    first = pools[0] if isinstance(pools, list) and pools else None
    return first if isinstance(first, Mapping) else {}

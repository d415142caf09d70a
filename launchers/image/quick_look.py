"""Has an image what ranks need, told in a second, before a first container of a job is started.

It imports nothing of the image: what is installed is tried by `launch image check` alone. The
answer is kept by the image's id, which stands for the same files for ever.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from launchers.core.model.image_needs import ImageNeeds
from launchers.core.records.ledger import data_folder
from launchers.core.strategies import FIRST, NAMES, named
from launchers.image import probe
from launchers.image.check import CheckedImage, Row, ask, image_of, needs_for, row_of
from launchers.image.needs import NEEDS, PROVIDERS, Facts, Need

if TYPE_CHECKING:
    import docker

SECONDS = 60.0
# Of Horovod's table; its other rows try something.
_QUICK = (
    *("architecture", "python", "framework", "tf-keras", "horovod"),
    *("mpirun", "mpi4py", "sshd", "toolkit", "code"),
)
_FILE = "images.json"
_KEPT = 20


def quick_look(client: docker.DockerClient, image: str, strategy: str = FIRST) -> CheckedImage:
    """The rows of a check that need no trial. Blocks for about a second, the first time alone.

    Raises:
        LaunchError: The image is not on this machine, or no Python answers in it.
    """
    found = image_of(client, image)
    packages = sorted({name for one in NAMES for name in _packages(needs_for(named(one)))})
    question = probe.source("quick", packages)
    key = f"{found.id} {hashlib.sha256(''.join(question).encode()).hexdigest()[:8]}"
    remembered = _remembered()
    answer = remembered.pop(key, None)
    if answer is None:
        answer = ask(client, str(found.id), image, question, SECONDS)
        _remember({**remembered, key: answer})
    facts = {**answer, "architecture": found.attrs["Architecture"], "mpi4py": ""}
    return CheckedImage(
        image=image,
        id=str(found.id),
        size=int(found.attrs["Size"]),
        rows=_rows(facts, needs_for(named(strategy))),
        nccl=None,
        entrypoint=tuple(found.attrs["Config"].get("Entrypoint") or ()),
        strategy=strategy,
    )


def _packages(needs: ImageNeeds | None) -> tuple[str, ...]:
    return needs.packages if needs else ()


def _rows(facts: Facts, needs: ImageNeeds | None) -> tuple[Row, ...]:
    table = [need for need in NEEDS if need.name in _QUICK]
    if needs is not None:
        parts = [part for part in needs.parts if part.name in needs.packages]
        table = [
            *(need for need in table if need.name in ("architecture", "python")),
            *(_package(part.name, part.title, part.fix, "image-strategy") for part in parts),
        ]
    else:  # Horovod by what is installed, since its bindings are not imported
        table = [
            _package(need.name, need.title, need.fix, "") if need.name == "horovod" else need
            for need in table
        ]
    return tuple(row_of(need, facts) for need in table if need.applies(facts))


def _package(name: str, title: str, fix: str, rule: str) -> Need:
    def found(facts: Facts) -> str:
        return str(facts["versions"].get(name) or "")

    return Need(name, title, PROVIDERS, found, lambda facts: bool(found(facts)), fix, rule=rule)


def _remembered() -> dict[str, Any]:
    try:
        found = json.loads((data_folder() / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(answers: dict[str, Any]) -> None:
    """Keep the newest answers; one that cannot be kept is asked for again."""
    newest = dict(list(answers.items())[-_KEPT:])
    file = data_folder() / _FILE
    partial = file.with_name(f"{_FILE}.{os.getpid()}")
    try:
        partial.write_text(json.dumps(newest), encoding="utf-8")
        partial.replace(file)
    except OSError:
        return

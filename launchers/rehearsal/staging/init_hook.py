"""The guard's watch on the ranks' joining for a document whose program is not the guard."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from launchers.core.model.containers import Container
from launchers.core.paths import entrypoints_folder
from launchers.core.strategies import FIRST

PATH = "/launch/hook"
_FIX = "let launch start the job, with --strategy {}: its agent starts the ranks, in any image"
_HOOK = Path(__file__).with_name("hook") / "sitecustomize.py"


def make_hook(
    folder: Path, world_size: int, hosts: int, processes: int, strategy: str = FIRST
) -> None:
    """Write the folder that every container mounts.

    Args:
        folder: Made here.
        processes: Ranks of each host; 0 where the document does not say.
        strategy: By which they join.

    Raises:
        OSError: It cannot be written.
    """
    folder.mkdir()
    shutil.copyfile(_HOOK, folder / _HOOK.name)
    expectation = {
        "strategy": strategy,
        # Where nobody started a rank; the guard's own words speak of Horovod's launchers.
        "fix": "" if strategy == FIRST else _FIX.format(strategy),
        "world_size": world_size,
        "hosts": hosts,
        "processes": processes,
    }
    (folder / "expectation.json").write_text(json.dumps(expectation), encoding="utf-8")
    shutil.copytree(
        entrypoints_folder() / "launch_runtime",
        folder / "runtime" / "launch_runtime",
        ignore=shutil.ignore_patterns("__pycache__", ".*"),
    )
    # Readable for whatever user the image runs as; the folder above is this user's alone.
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def watched(containers: Sequence[Container], folder: Path) -> list[Container]:
    """``containers`` with the hook mounted and on their PYTHONPATH, which the services' own tools
    hand on to every rank."""
    changed = []
    for container in containers:
        own = container.environment.get("PYTHONPATH")
        path = f"{PATH}:{own}" if own else PATH
        changed.append(
            replace(
                container,
                mounts={**container.mounts, PATH: str(folder)},
                environment={**container.environment, "PYTHONPATH": path},
            )
        )
    return changed

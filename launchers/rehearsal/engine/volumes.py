"""Folders that all hosts of a job read and write as one: volumes of the engine.

A service mounts its buckets so. A folder of this machine would do for root alone: what a container
writes there belongs to the container's user, and this launcher's could not remove it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from launchers.core.model.containers import Container
from launchers.rehearsal.engine.labels import Labels


def volumes(labels: Labels, containers: Sequence[Container]) -> dict[str, str]:
    """Shared folder -> its volume's name."""
    paths = sorted({path for container in containers for path in container.shared})
    return {path: f"{labels.name}-shared-{number}" for number, path in enumerate(paths)}


def make_volumes(api: Any, labels: Labels, containers: Sequence[Container]) -> None:
    """Make them, empty. May block; safe to repeat.

    Raises:
        docker.errors.APIError: The engine makes none.
    """
    for name in volumes(labels, containers).values():
        api.create_volume(name, labels=labels.values())


def filled_once(containers: Sequence[Container]) -> list[Container]:
    """``containers`` of which the first alone brings what lies in a shared folder."""
    return [
        container
        if not index
        else replace(
            container,
            files={
                path: content
                for path, content in container.files.items()
                if not is_below(path, container.shared)
            },
            folders=tuple(
                path for path in container.folders if not is_below(path, container.shared)
            ),
        )
        for index, container in enumerate(containers)
    ]


def is_below(path: str, folders: Sequence[str]) -> bool:
    """Whether ``path`` is one of ``folders`` or lies in one."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)

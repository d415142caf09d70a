"""What rehearsals left behind: found by its labels alone, listed, removed.

A launcher that was killed, or whose engine went away under it, could not clean up. The next
rehearsal does it, and so does ``launch rehearsals --clean``.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from launchers.rehearsal.engine.labels import ID, Labels
from launchers.rehearsal.engine.workplace import left_folders

ENGINE_SECONDS = 30.0

# What the engine answers while a container is being removed, and its network with it.
_IN_PROGRESS, _IN_USE = "already in progress", "has active endpoints"
_BUSY_SECONDS = 10.0


@dataclass
class Rehearsal:
    """Everything that carries one rehearsal's labels.

    Attributes:
        containers: Names, by the engine's id.
        networks: Names, by the engine's id.
        volumes: Names.
    """

    labels: Labels
    containers: dict[str, str] = field(default_factory=dict)
    networks: dict[str, str] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        """``running``, ``left over``, or ``unknown`` where its launcher is on another machine."""
        if self.labels.is_running:
            return "running"
        # A folder without labels was never finished, and is ours by its place.
        known = self.labels.is_left_over or not self.labels.machine
        return "left over" if known else "unknown"


def rehearsals(client: Any) -> list[Rehearsal]:
    """Everything that carries a rehearsal's label, those that run included, oldest first.

    Args:
        client: The engine, or None to look at folders alone.
    """
    found: dict[str, Rehearsal] = {}

    def of(labels: Labels) -> Rehearsal:
        return found.setdefault(labels.id, Rehearsal(labels))

    if client is not None:
        chosen = {"label": ID}
        for item in client.api.containers(all=True, filters=chosen):
            labels, name = Labels.read(item["Labels"]), item["Names"][0].lstrip("/")
            # One of an image that somebody made of a rehearsal's container has its labels, too.
            if name.startswith(f"{labels.name}-"):
                of(labels).containers[item["Id"]] = name
        for item in client.api.networks(filters=chosen):
            of(Labels.read(item["Labels"])).networks[item["Id"]] = item["Name"]
        for item in client.api.volumes(filters=chosen)["Volumes"] or ():
            of(Labels.read(item["Labels"])).volumes.append(item["Name"])
    for folder, labels in left_folders():
        of(labels).folders.append(folder)
    return sorted(found.values(), key=lambda item: item.labels.started)


def clean(client: Any, chosen: Iterable[Rehearsal]) -> list[str]:
    """Remove everything of these rehearsals; what could not be removed comes back, a line each.

    Safe to repeat, and safe beside another launcher that does the same.
    """
    from docker.errors import APIError, NotFound

    failed = []
    for item in chosen:
        for what, remove in _removals(client, item):
            try:
                _removed(remove)
            except NotFound:
                continue
            except APIError as error:
                if _IN_PROGRESS not in str(error):
                    failed.append(f"{what}: {error.explanation}")
        for folder in item.folders:
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                failed.append(f"folder {folder}")
    return failed


def _removed(remove: Callable[[], Any]) -> None:
    """Call ``remove``; wait while another launcher removes the same, or what is in it."""
    from docker.errors import APIError

    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            remove()
            return
        except APIError as error:
            busy = any(words in str(error) for words in (_IN_PROGRESS, _IN_USE))
            if not busy or time.monotonic() > until:
                raise
        time.sleep(0.2)


def _removals(client: Any, item: Rehearsal) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is to be removed from the engine, containers first: their networks are in use."""
    for container, name in item.containers.items():
        yield (
            f"container {name}",
            partial(client.api.remove_container, container, v=True, force=True),
        )
    for network, name in item.networks.items():
        yield f"network {name}", partial(client.api.remove_network, network)
    for volume in item.volumes:
        yield f"volume {volume}", partial(client.api.remove_volume, volume)


def remove_all(client: Any, labels: Labels) -> list[str]:
    """Remove what carries these labels in the engine; what is left comes back, a line each.

    An engine that is being restarted is waited for, half a minute at most.
    """
    from docker.errors import DockerException

    until = time.monotonic() + ENGINE_SECONDS
    while True:
        try:
            mine = [item for item in rehearsals(client) if item.labels.id == labels.id]
            return clean(client, [replace(item, folders=[]) for item in mine])
        except (DockerException, OSError) as error:
            if time.monotonic() > until:
                return [f"everything named {labels.name}-*: {type(error).__name__}"]
            time.sleep(0.5)


def clean_left_over(client: Any) -> list[Rehearsal]:
    """Remove what dead launchers of this machine left; gives what was removed."""
    chosen = [item for item in rehearsals(client) if item.state == "left over"]
    clean(client, chosen)
    return chosen

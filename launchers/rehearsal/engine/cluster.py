"""N containers on a network of their own. Knows nothing of providers."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from launchers.core.model.containers import Container
from launchers.rehearsal.engine.archive import archive_of
from launchers.rehearsal.engine.labels import Labels
from launchers.rehearsal.engine.making import Limits, Maker
from launchers.rehearsal.engine.output import Event, follow
from launchers.rehearsal.engine.volumes import make_volumes

_LONGEST_START = 30.0  # seconds, for containers that start one after another
_CHUNK = 1 << 20  # bytes
_NO_LIMITS = Limits()


class StartError(Exception):
    """A container that could not be made or started; ``container`` is its host's name."""

    def __init__(self, container: str, reason: str):
        self.container = container
        super().__init__(reason)


class Cluster:
    """The containers of one rehearsal, from creation to removal.

    Args:
        client: The engine, a ``docker.DockerClient``.
        limits: For each container alike.
        isolated: The network leads nowhere else.
        closed: Addresses that no container reaches by TCP.
    """

    def __init__(
        self,
        client: Any,
        labels: Labels,
        containers: Sequence[Container],
        limits: Limits = _NO_LIMITS,
        isolated: bool = False,
        closed: Sequence[str] = (),
    ):
        self._api = client.api
        self._labels = labels
        self._containers = containers
        self._isolated = isolated
        self._maker = Maker(
            client.api, labels, containers, limits, () if isolated else tuple(closed)
        )
        self._ids: dict[str, str] = {}
        self.events: SimpleQueue[Event] = SimpleQueue()

    @property
    def left_open(self) -> Mapping[str, str]:
        """Host -> why the closed addresses could not be closed for it; it runs all the same."""
        return self._maker.left_open

    def make_network(self) -> None:
        """Make the private network, and the volumes of shared folders. May block.

        Raises:
            docker.errors.APIError: The engine has none left to give.
        """
        self._api.create_network(
            self._labels.name,
            driver="bridge",
            internal=self._isolated,
            labels=self._labels.values(),
            check_duplicate=True,
        )
        make_volumes(self._api, self._labels, self._containers)

    def create(self) -> None:
        """Create every container with its files; none runs yet. May block.

        Raises:
            StartError: One cannot be created.
        """
        self._each(self._create, range(len(self._containers)))

    def start(self, apart: float = 0.0) -> None:
        """Start every container and listen to it; :attr:`events` has what happens then.

        Args:
            apart: Seconds between two starts, the leader's the last; 0 for all at once. Blocks for
                half a minute at most.

        Raises:
            StartError: One cannot be started.
        """
        if not apart:
            self._each(self._start, self._containers)
            return
        pause = min(apart, _LONGEST_START / len(self._containers))
        for place, item in enumerate(sorted(self._containers, key=lambda item: item.leader)):
            if place:
                time.sleep(pause)
            self._start(item)

    def add_sidecar(self, container: Container) -> None:
        """Create and start a container that serves the others and is none of the job's.

        Raises:
            StartError: It cannot be started.
        """
        from docker.errors import APIError

        self._made(container)
        try:
            self._api.start(self._ids[container.name])
        except APIError as error:
            raise StartError(container.name, explanation(error)) from None

    def next_event(self, timeout: float) -> Event | None:
        """What happened next, or None where nothing did for ``timeout`` seconds."""
        try:
            return self.events.get(timeout=max(0.0, timeout))
        except Empty:
            return None

    def signal(self, name: str, hosts: Iterable[str] | None = None) -> None:
        """Send a signal (``SIGTERM``) to process 1 of the containers that still run."""
        chosen = list(hosts) if hosts is not None else [item.name for item in self._containers]
        self._quietly(lambda host: self._api.kill(self._ids[host], signal=name), chosen)

    def run_in(self, host: str, *command: str) -> str:
        """The output of a command in a running container; empty where it cannot be run."""
        from docker.errors import DockerException

        try:
            made = self._api.exec_create(self._ids[host], list(command))
            output: bytes = self._api.exec_start(made["Id"])
        except DockerException:
            return ""
        return output.decode("utf-8", "replace")

    def folder(self, host: str, path: str) -> Generator[bytes, None, None]:
        """The tar stream of a folder of a container, also of one that has ended.

        To be closed: the engine removes no container of which it still sends a folder, and what
        ``get_archive`` gives cannot be closed.

        Raises:
            docker.errors.NotFound: There is no such folder.
        """
        api = self._api
        address = api._url("/containers/{0}/archive", self._ids[host])
        with closing(api._get(address, params={"path": path}, stream=True)) as answer:
            api._raise_for_status(answer)
            yield from answer.iter_content(_CHUNK)

    def put_files(self, host: str, files: Mapping[str, bytes | Path]) -> None:
        """Write files into a container that has been created; path there -> content."""
        with archive_of(files) as stream:
            self._api.put_archive(self._ids[host], "/", stream)

    def remove(self) -> None:
        """Remove the containers, running or not; the network stays. Safe to repeat."""
        for made in (list(self._ids.values()), self._maker.holders):
            self._quietly(lambda one: self._api.remove_container(one, v=True, force=True), made)
        self._ids.clear()
        self._maker.holders.clear()

    def _create(self, index: int) -> None:
        self._made(self._containers[index], index)

    def _made(self, item: Container, index: int | None = None) -> None:
        """Create one with its files; ``index`` is its place among the job's."""
        from docker.errors import APIError

        try:
            made = self._maker.make(item, index)
            self._ids[item.name] = made
            with archive_of(item.files, item.folders, item.shared) as stream:
                self._api.put_archive(made, "/", stream)
        except APIError as error:
            raise StartError(item.name, explanation(error)) from None

    def _start(self, item: Container) -> None:
        from docker.errors import APIError

        container_id = self._ids[item.name]
        try:
            self._api.start(container_id)
        except APIError as error:
            raise StartError(item.name, explanation(error)) from None
        follow(self._api, item.name, container_id, self.events)

    def _each(self, action: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Do it for all at once; the first that fails, in their order, is raised."""
        with ThreadPoolExecutor(max_workers=16) as pool:
            for done in [pool.submit(action, item) for item in items]:
                done.result()

    def _quietly(self, action: Callable[[str], None], hosts: Iterable[str]) -> None:
        """Do it for all that are still there; one that has ended meanwhile is fine, and an engine
        that has gone is told by :attr:`events`."""
        from docker.errors import APIError

        def attempt(host: str) -> None:
            try:
                action(host)
            except (APIError, KeyError, OSError):
                return

        with ThreadPoolExecutor(max_workers=16) as pool:
            list(pool.map(attempt, hosts))


def explanation(error: Any) -> str:
    """The engine's reason in one line, without its client's preamble."""
    text = str(getattr(error, "explanation", "") or error)
    return " ".join(text.split())[:300]

"""The loopback Google Cloud in a process of its own, for clients that run in this one.

pyarrow's client waits for some answers under Python's lock; a service in the same process would
never get to give them.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Any

from tests.fakes.vertex_service import VertexService


class GoogleApart:
    """A :class:`VertexService` there, from now until :meth:`close`."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._asking, answering = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(answering,), daemon=True)
        self._process.start()
        answering.close()

    def do(self, name: str, *arguments: Any) -> Any:
        """What ``google.<name>(*arguments)`` gives there: ``do("objects.put", uri, data)``.

        Raises:
            EOFError: It raised, and the process has ended.
        """
        self._asking.send((name, arguments))
        return self._asking.recv()

    def close(self) -> None:
        """End it."""
        self._asking.close()
        self._process.join()


def _serve(asked: Connection) -> None:
    with VertexService() as google:
        while True:
            try:
                name, arguments = asked.recv()
            except EOFError:
                return
            asked.send(attrgetter(name)(google)(*arguments))

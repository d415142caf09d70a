"""A Dask cluster of this host for its ranks: a scheduler on loopback and a worker a core.

It is a process of its own, started by the host's first rank, so that the scheduler takes no
interpreter lock from training, and it lives as long as that rank: it ends when its standard input
does, which the system sees to also where the rank is killed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from typing import Any, Iterator

from ..errors import TrainingError

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dask_host.py")


@contextlib.contextmanager
def scheduler_for(ranks: Any, address: str | None) -> Iterator[str]:
    """The address of the scheduler of this rank: the one that is given, or its host's own.

    Collective: all ranks call it, and all get here before any goes on.

    Args:
        ranks: The ranks of this run.
        address: What the user named, or None.

    Raises:
        TrainingError: A host's cluster did not start.
        PeerEndedError: The same, on the ranks that have nothing to add.
    """
    if address is not None:
        yield address
        return
    own = ranks.together(lambda: _started() if ranks.position == 0 else None)
    try:
        # By rank: a rank's host begins with the last position 0 before it, or what it was told.
        known = ranks.gather((socket.gethostname(), ranks.position, own and own.address))
        yield _of_host(known, ranks.rank)
    finally:
        if own is not None:
            own.close()


def _started() -> LocalCluster:
    try:
        return LocalCluster()
    except (RuntimeError, OSError) as error:
        raise TrainingError(
            f"no local Dask cluster: {error}. Install the launcher's extra 'dask' "
            "(dask[distributed]), or name a scheduler with --scheduler."
        ) from error


def _of_host(known: list[tuple[str, int, str | None]], rank: int) -> str:
    """The address that the first rank of ``rank``'s host started.

    Args:
        known: Host name, position on the host and that address, or None, of each rank.
        rank: Whose host it is.
    """
    host, position, _ = known[rank]
    neighbours = known[rank - position : rank + 1]
    # Hosts may share a name; the ranks of one are neighbours, unless mpirun was told otherwise.
    if [of[:2] for of in neighbours] == [(host, number) for number in range(position + 1)]:
        return str(neighbours[0][2])
    return next(str(of[2]) for of in known if of[:2] == (host, 0))


class LocalCluster:
    """The cluster, as the process that started it sees it.

    Attributes:
        address: Of its scheduler; loopback alone, so only this machine's users can reach it.
    """

    def __init__(self, workers: int | None = None) -> None:
        """Starts it; blocks until it listens.

        Args:
            workers: Processes of one thread; one a core that this process may use for None.

        Raises:
            RuntimeError: It did not start; the last line that it said.
        """
        count = workers or len(os.sched_getaffinity(0))
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, PROGRAM, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            start_new_session=True,  # an interrupt is the rank's affair
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            self._process.communicate()
            self._said.seek(0)
            lines = self._said.read().strip().splitlines() or [
                f"exit code {self._process.returncode}"
            ]
            raise RuntimeError(lines[-1])

    def close(self) -> None:
        """Ends it and waits until it is gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

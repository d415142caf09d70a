"""What a request starts, whatever starts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from launchers.core.model.problems import Problem
from launchers.core.planning.plan import spread
from launchers.sagemaker.starts.groups import Group


class Start(NamedTuple):
    """What a request starts.

    Attributes:
        way: A name of ways.json; ``plain`` for the program alone on each host, ``agent`` for
            ours, ``drivers`` for those of the SageMaker SDK 3, ``command`` and ``image`` for what
            the request does not describe.
        ranks: The world size of a job that it starts; None where it cannot be told.
        because: Why so many, or why it cannot be told, in a short clause.
        placed: The machines that take part, and the processes on each of their hosts, where both
            are known.
        once: The program that one host runs once, and that may start more by itself.
        problems: What keeps the request's hosts from being one job.
    """

    way: str
    ranks: int | None
    because: str
    placed: tuple[tuple[Group, int], ...] = ()
    once: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def meant(self) -> int:
        """The ranks that the request asks for, hosts by processes, whatever else in it makes them
        fewer; 0 where it does not say."""
        return ranks_on(self.placed) or self.ranks or 0


def ranks_on(placed: Sequence[tuple[Group, int]]) -> int:
    """Hosts by processes of all groups; a group whose hosts are not said has none."""
    return sum((group.hosts or 0) * processes for group, processes in placed)


def spread_text(placed: Sequence[tuple[Group, int]]) -> str:
    """``2 hosts x 4 processes``; machines of other counts behind a plus sign."""
    hosts: dict[int, int] = {}
    for group, processes in placed:
        hosts[processes] = hosts.get(processes, 0) + (group.hosts or 0)
    return " + ".join(spread(count, processes) for processes, count in hosts.items())

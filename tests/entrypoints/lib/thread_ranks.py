"""Ranks that are threads of one process, and speak by lists."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from entrypoints.lib.ranks import Ranks

T = TypeVar("T")
SECONDS = 60.0


class Exchange:
    """Threads that hand each other what they say, and count how often."""

    def __init__(self, size: int):
        self.size, self.count = size, 0
        self._said: list[Any] = [None] * size
        self._barrier = threading.Barrier(size)

    def gather(self, rank: int, value: Any) -> list[Any]:
        self._said[rank] = value
        self._barrier.wait(SECONDS)
        found = list(self._said)
        if rank == 0:
            self.count += 1
        self._barrier.wait(SECONDS)
        return found

    def give_up(self) -> None:
        """Whoever waits for the others gets an error."""
        self._barrier.abort()


class ThreadRanks(Ranks):
    def __init__(self, exchange: Exchange, rank: int):
        super().__init__(rank, exchange.size, rank, exchange.size)
        self._exchange = exchange

    def gather(self, value: Any) -> list[Any]:
        return self._exchange.gather(self.rank, value)

    def from_first(self, value: Any) -> Any:
        return self.gather(value)[0]


def together(size: int, attempt: Callable[[Ranks], T]) -> list[T]:
    """What ``attempt`` gives on each rank of a world; an error on one is raised here."""
    exchange, results = Exchange(size), [None] * size
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            results[rank] = attempt(ThreadRanks(exchange, rank))  # type: ignore[call-overload]
        except BaseException as error:
            errors.append(error)
            exchange.give_up()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    if errors:
        raise errors[0]
    return results  # type: ignore[return-value]

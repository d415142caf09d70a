"""What hooks are given in place of a collector, and of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from launch_runtime.rank.exchange.variables import Variables


class Collector:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.inside: list[str] = []
        self.variables = Variables()

    def reduced(self, variables: list[Any], group: Any, ways: list[str]) -> None:
        self.told.append(("reduced", variables, group, ways))

    def exchanged(self, tensor: Any, shape: list[int], group: Any, value: Any) -> None:
        self.told.append(("exchanged", tensor, shape, group))

    def applied(
        self,
        owner: Any,
        name: str,
        pairs: list[tuple[Any, Any]],
        steps: Callable[[], int],
        ways: tuple[str, ...],
        reduces: bool,
    ) -> None:
        self.told.append(("applied", name, steps()))

    def nobodys(self, shape: tuple[int, ...], group: Any) -> None:
        self.told.append(("nobodys", shape, group))

    def stepped(self) -> None:
        pass

    def took(self, owner: Any, variables: list[Any]) -> None:
        pass

    def sent(self) -> None:
        self.told.append(("sent",))

    def joined(self) -> None:
        self.told.append(("joined",))

    def give_up(self, error: Exception) -> None:
        self.told.append(("gave up", error))

    def is_inside(self, what: str) -> bool:
        return what in self.inside

    @contextmanager
    def within(self, what: str) -> Any:
        self.inside.append(what)
        yield
        self.inside.pop()


class Tensor:
    """One without values."""

    def __init__(self, place: int, *shape: int) -> None:
        self.place, self.shape = place, shape

    def data_ptr(self) -> int:
        return self.place

"""Removing what a build leaves; the engine is made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError
from requests.exceptions import ReadTimeout

from launchers.image.leftovers import REMOVAL_SECONDS, remove_leftovers
from launchers.image.names import STAGE_LABEL

SIZE, BASE = 3_000, 1_000


class Engine:
    """Has every image that is asked for, without a name; removes them or raises ``error``."""

    def __init__(self, error: Exception | None = None, labels: tuple[str, ...] = (STAGE_LABEL,)):
        self.api, self.images = SimpleNamespace(timeout=60.0), self
        self._error, self._labels = error, labels
        self.removed: list[str] = []
        self.patience: list[float] = []

    def get(self, identifier: str) -> Any:
        return SimpleNamespace(
            id=identifier, labels=dict.fromkeys(self._labels, "build"), attrs={"Size": SIZE}
        )

    def remove(self, identifier: str) -> None:
        self.patience.append(self.api.timeout)
        if self._error:
            raise self._error
        self.removed.append(identifier)


def test_a_removal_has_minutes_and_the_rest_of_a_command_has_not() -> None:
    engine: Any = Engine()

    assert remove_leftovers(engine, ["a", "b"], BASE) == 2 * (SIZE - BASE)
    assert engine.removed == ["a", "b"]
    assert engine.patience == [REMOVAL_SECONDS, REMOVAL_SECONDS]
    assert engine.api.timeout == 60.0


@pytest.mark.parametrize(
    ("error", "tries"), [(ReadTimeout("read timed out"), 1), (APIError("in use"), 2)]
)
def test_a_build_that_went_well_does_not_fail_for_what_it_leaves(
    error: Exception, tries: int
) -> None:
    """An engine that does not answer is not asked again."""
    engine: Any = Engine(error)

    assert remove_leftovers(engine, ["a", "b"]) == 0
    assert len(engine.patience) == tries
    assert engine.api.timeout == 60.0


def test_images_of_others_stay() -> None:
    engine: Any = Engine(labels=())

    assert remove_leftovers(engine, ["a"]) == 0
    assert engine.removed == []

"""The bundle's way into a store: once, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from launchers.core.cloud.upload import Progress, store_once
from launchers.core.model.problems import LaunchError, PassingError
from tests.core.cloud.memory import DENIED, PASSING, Clock, CloudError, MemoryCloud


class Bundle:
    """As much of a bundle as is stored."""

    def write_tar_gz(self, file: Path, told: Progress | None = None) -> None:
        if told:
            told(9, 9)
        file.write_bytes(b"12345")


class Store:
    """A store that answers as it is told."""

    def __init__(self, *errors: str, there: bool = False, keeps: bool = True):
        self.errors, self.there, self.keeps = list(errors), there, keeps
        self.sent: list[bytes] = []

    def send(self, file: Path, progress: Progress) -> None:
        self.sent.append(file.read_bytes())
        progress(3, 5)
        self.there = self.keeps
        if self.errors:
            raise CloudError(self.errors.pop())


def store(into: Store) -> tuple[bool, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    bundle: Any = Bundle()
    cloud = MemoryCloud(Clock())
    sent = store_once(
        cloud,
        bundle,
        "mem://there",
        lambda: into.there,
        into.send,
        lambda done, total: told.append((done, total)),
    )
    return sent, told


def test_what_is_not_there_is_sent_and_progress_ends_at_all_of_it():
    into = Store()
    assert store(into) == (True, [(0, 5), (3, 5), (5, 5)])
    assert into.sent == [b"12345"]


def test_the_bytes_of_a_source_that_is_compressed_are_told_apart():
    bundle: Any = Bundle()
    into, sent, packed = Store(), [], []
    store_once(
        MemoryCloud(Clock()),
        bundle,
        "mem://there",
        lambda: into.there,
        into.send,
        lambda *at: sent.append(at),
        lambda *at: packed.append(at),
    )
    assert (packed, sent[0]) == ([(9, 9)], (0, 5))


def test_what_is_there_is_not_sent():
    into = Store(there=True)
    assert store(into) == (False, [])
    assert into.sent == []


def test_a_last_answer_that_was_lost_is_no_error():
    sent, told = store(Store(PASSING))
    assert (sent, told[-1]) == (True, (5, 5))


def test_a_store_that_refuses_says_what_to_check():
    with pytest.raises(LaunchError, match="check --bucket"):
        store(Store(DENIED, keeps=False))


def test_a_connection_that_was_lost_says_nothing_of_the_bucket():
    with pytest.raises(PassingError) as refusal:
        store(Store(PASSING, keeps=False))
    assert refusal.value.problems[0].fix == ""

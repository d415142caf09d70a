"""The process groups of torch.distributed, by a stand-in for its module in two of its versions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange.groups import Groups


class Group:
    """A process group; ``sequence`` is None for a backend that does not count."""

    def __init__(self, *ranks: int, sequence: int | None = 0):
        self.ranks, self.sequence = ranks, sequence

    def _get_sequence_number_for_group(self) -> int:
        if self.sequence is None:
            raise RuntimeError("this backend has no sequence numbers")
        return self.sequence


OUTSIDE = object()


def groups_of(*groups: Group, new: bool = True) -> Groups:
    """Those of a process in a world of four ranks, the first of them the default one."""
    default, held = groups[0], {group: list(group.ranks) for group in groups}
    found = Groups()
    found.module = SimpleNamespace(is_initialized=lambda: True, get_world_size=lambda: 4)
    if new:
        found.module.GroupMember = SimpleNamespace(NON_GROUP_MEMBER=OUTSIDE, WORLD=default)
        found.module.get_process_group_ranks = held.__getitem__
        found.module._world = SimpleNamespace(pg_map=held)
    else:
        found.module.GroupMember = SimpleNamespace(NON_GROUP_MEMBER=OUTSIDE)
        found.module.group = SimpleNamespace(WORLD=default)
        found.module._pg_group_ranks = {group: dict.fromkeys(group.ranks, 0) for group in held}
        found.module._pg_map = held
    return found


@pytest.mark.parametrize("new", [True, False])
def test_a_group_is_named_by_its_ranks_and_the_whole_world_by_a_word(new: bool) -> None:
    whole, pair = Group(3, 2, 1, 0), Group(3, 1)
    groups = groups_of(whole, pair, new=new)

    assert groups.ranks_of(None) == groups.ranks_of(whole) == ALL
    assert groups.ranks_of(pair) == groups.ranks_of(pair) == [1, 3]
    assert groups.all() == [whole, pair]


@pytest.mark.parametrize("outside", [OUTSIDE, -100])
def test_of_a_group_without_this_process_nothing_is_known(outside: Any) -> None:
    groups = groups_of(Group(0, 1, 2, 3))

    assert groups.ranks_of(outside) is None
    assert groups.total_of(outside) == 0


def test_without_the_module_or_a_default_group_there_are_none() -> None:
    groups = groups_of(Group(0, 1, 2, 3))
    assert groups.are_there

    groups.module.is_initialized = lambda: False
    assert not groups.are_there
    assert not Groups().are_there


def test_collectives_are_counted_by_the_group_or_else_by_the_calls() -> None:
    counts, silent = Group(0, 1, 2, 3, sequence=7), Group(0, 1, sequence=None)
    groups = groups_of(counts, silent)
    assert (groups.total_of(counts), groups.total_of(silent)) == (7, 0)

    for _ in range(2):
        assert groups.called(counts) == ALL
        assert groups.called(silent) == [0, 1]

    assert (groups.total_of(counts), groups.total_of(silent)) == (7, 2)


def test_what_was_not_called_is_hidden_and_a_group_that_does_not_count_hides_nothing() -> None:
    counts, silent = Group(0, 1, 2, 3, sequence=7), Group(0, 1, sequence=None)
    groups = groups_of(counts, silent)
    assert (groups.hidden(counts), groups.hidden(silent)) == (7, None)

    groups.called(counts)
    groups.called(counts)
    groups.called(silent)
    kept: dict[int, int] = {}
    groups.keep_hidden(kept)

    assert (groups.hidden(counts), groups.hidden(silent)) == (5, None)
    assert kept == {id(counts): 5}


def test_the_first_count_is_kept_until_all_begin_again() -> None:
    group = Group(0, 1, 2, 3, sequence=7)
    groups = groups_of(group)
    groups.begin_again()
    group.sequence = 9
    groups.keep_hidden(groups.born)
    assert groups.born == {id(group): 7}

    groups.begin_again()
    assert groups.born == {id(group): 9}


def test_nothing_is_kept_of_a_group_that_is_gone() -> None:
    whole, pair = Group(0, 1, 2, 3, sequence=1), Group(0, 1, sequence=None)
    groups = groups_of(whole, pair)
    groups.called(pair)
    groups.at_first_step = {id(whole): 1, id(pair): 1}
    groups.born = {id(pair): 1}
    del groups.module._world.pg_map[pair]

    groups.forget_gone()

    assert groups.born == groups.at_first_step == {id(whole): 1}
    assert groups.total_of(pair) == 0

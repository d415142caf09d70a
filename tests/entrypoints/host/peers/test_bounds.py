"""What is counted and bounded, without sockets: questions, connections, keys."""

from __future__ import annotations

import pytest
from launch_runtime.host.peers.counters import MOST_STARTS, WINDOW, Counters
from launch_runtime.host.peers.keys import ABSENT, OK, TOO_MUCH, Keys
from launch_runtime.host.peers.waiting_room import WaitingRoom


def test_a_question_is_heard_once_in_whatever_order_they_come() -> None:
    counters = Counters()
    heard = [counters.take(1, "a", number) for number in (1, 3, 2, 3, 1, 2, 4)]
    assert heard == [True, True, True, False, False, False, True]


def test_hosts_and_starts_count_apart() -> None:
    counters = Counters()
    assert counters.take(1, "a", 5)
    assert counters.take(2, "a", 5)
    assert counters.take(1, "b", 5)
    assert not counters.take(1, "a", 5)


@pytest.mark.parametrize("jump", [1, 2, WINDOW - 1, WINDOW, WINDOW + 1, 10 * WINDOW, 10**14])
def test_after_a_jump_nothing_is_heard_twice_and_the_newest_of_the_window_still_once(
    jump: int,
) -> None:
    counters = Counters()
    assert counters.take(0, "a", 10)
    assert counters.take(0, "a", 10 + jump)
    assert not counters.take(0, "a", 10)
    assert not counters.take(0, "a", 10 + jump)
    between = 10 + jump - 1
    assert counters.take(0, "a", between) is (between > 10)
    assert not counters.take(0, "a", between)


def test_what_is_older_than_the_window_is_not_heard() -> None:
    counters = Counters()
    assert WINDOW == 4096
    assert counters.take(0, "a", WINDOW + 1)
    assert not counters.take(0, "a", 1)
    assert counters.take(0, "a", 2)


def test_counting_begins_with_one_and_starts_are_bounded() -> None:
    counters = Counters()
    assert not counters.take(0, "a", 0)
    for start in range(MOST_STARTS):
        assert counters.take(0, str(start), 1)
    assert not counters.take(0, "one more", 1)
    assert counters.take(0, "0", 2)
    assert counters.take(1, "another host", 1)


def test_a_flood_from_one_address_displaces_its_own_oldest_connection() -> None:
    room = WaitingRoom(most=3)
    assert room.enter(1, "the host", 0.0) is None
    assert room.enter(2, "stranger", 0.0) is None
    assert room.enter(3, "stranger", 0.0) is None
    assert room.enter(4, "stranger", 0.0) == 2
    room.leave(2)
    assert room.enter(5, "another host", 0.0) == 3
    assert len(room) == 4


def test_who_says_nothing_has_to_go_in_time() -> None:
    room = WaitingRoom(patience=5.0)
    room.enter(1, "a", 0.0)
    room.enter(2, "a", 3.0)
    assert room.overdue(4.9) == []
    assert room.overdue(5.0) == [1]
    room.leave(1)
    room.leave(1)
    assert room.overdue(8.0) == [2]


def test_a_key_that_was_put_is_got_and_one_that_was_deleted_is_absent() -> None:
    keys = Keys(world_size=2, processes=1)
    assert keys.get("/a/0") is None
    assert keys.put("/a/0", b"one", 0) == OK
    assert keys.put("/a/0", b"two", 0) == OK
    assert keys.get("/a/0") == b"two"
    assert keys.delete("/a/0") == OK
    assert keys.delete("/a/0") == OK
    assert keys.get("/a/0") is None
    # 404 is what Horovod's client takes for a key that is not there yet.
    assert (OK, ABSENT, TOO_MUCH) == (200, 404, 413)


def test_a_value_that_is_larger_than_any_of_horovods_is_refused() -> None:
    keys = Keys(world_size=1000, processes=1)
    assert keys.longest_value == (64 + 1000) * 1024, "64 KiB, and 1 KiB for each rank"
    assert keys.put("/a/0", bytes(keys.longest_value), 0) == OK
    assert keys.put("/a/1", bytes(keys.longest_value + 1), 0) == TOO_MUCH
    assert keys.get("/a/1") is None


def test_a_host_that_fills_its_share_is_in_nobodys_way() -> None:
    keys = Keys(world_size=4, processes=2)
    value = bytes(keys.longest_value)
    statuses = [keys.put(f"/a/{number}", value, 0) for number in range(40)]
    assert statuses.count(OK) == 16
    assert keys.put("/b/0", value, 1) == OK
    assert keys.put("/c/0", b"1", 0) == TOO_MUCH
    keys.delete("/a/0")
    assert keys.put("/c/0", value, 0) == OK
    assert keys.put("/c/1", b"1", 0) == TOO_MUCH


def test_the_number_of_keys_is_bounded_too() -> None:
    keys = Keys(world_size=1, processes=1)
    statuses = [keys.put(f"/a/{number}", b"", 0) for number in range(2000)]
    assert statuses.count(OK) == 1024
    keys.delete("/a/0")
    assert [keys.put(f"/b/{number}", b"", 0) for number in range(2)] == [OK, TOO_MUCH]

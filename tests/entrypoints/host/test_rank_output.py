"""What a rank's output takes from its status pipe, whoever writes there."""

from __future__ import annotations

import json
import os

import pytest
from launch_runtime.host import ranks
from launch_runtime.host.console import Console
from launch_runtime.host.rank_output import RankOutput

NO_EVENTS = [
    "",
    "no JSON",
    "3",
    '"text"',
    "[1]",
    "{}",
    '{"event": "progress"}',
    '{"event": "progress", "counts": [1]}',
    '{"event": "progress", "counts": {"steps": Infinity}}',
    '{"event": "progress", "counts": {"steps": "many"}}',
    '{"event": "line", "text": 5}',
    '{"event": "secrets", "values": 3}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", NO_EVENTS, ids=range(len(NO_EVENTS)))
def test_what_is_no_event_of_the_guards_is_passed_over(text: str) -> None:
    output, status = os.pipe(), os.pipe()
    screen = os.open(os.devnull, os.O_WRONLY)
    rank = ranks.Rank(0, "host-1", 2)
    console = Console("host-1", screen)
    heard = RankOutput(
        0, output[0], status[0], console, "", "stamp", lambda _, event: rank.take(event)
    )
    try:
        own = json.dumps({"event": "proof", "text": "world size 2"})
        data = f"{text}\n{own}\n".encode()
        for begin in range(0, len(data), 10_000):  # less at once than a pipe holds
            os.write(status[1], data[begin : begin + 10_000])
            assert heard.read_status()
        assert heard.proof == "world size 2"
    finally:
        console.flush(10)
        for descriptor in (*output, *status, screen):
            os.close(descriptor)

"""What a rank's output takes from its status pipe, whoever writes there."""

from __future__ import annotations

import json
import os
from typing import Any

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


LAST = "train.py: error: no data in /x, with key-5a1f"


@pytest.mark.parametrize(
    ("written", "secrets", "reason"),
    [
        (f"epoch 1\n{LAST}\n\n", [], f"the script called sys.exit(1); its last line: {LAST}"),
        (f"epoch 1\n{LAST}", ["key-5a1f"], "its last line: train.py: error: no data in /x, with"),
        ("", [], "the script called sys.exit(1)"),
        # Where it begins was not kept: half of a value may stand there.
        ("." * 5000, [], "the script called sys.exit(1)"),
        ("short\n" + "." * 4000, [], "the script called sys.exit(1); its last line: ...."),
    ],
    ids=["its line", "masked", "no line", "no beginning", "long"],
)
def test_an_exit_code_alone_is_told_with_the_ranks_last_line(
    written: str, secrets: list[str], reason: str
) -> None:
    event = {"event": "failing", "reason": "the script called sys.exit(1)", "code": 1}
    told = [{"event": "secrets", "values": secrets}, {**event, "mute": True}]
    _, found = read(written, told)
    assert reason in found[-1]["reason"]
    assert "key-5a1f" not in found[-1]["reason"] or not secrets
    assert ("last line" in found[-1]["reason"]) == ("last line" in reason)


ABORTS = [
    (
        "Process group watchdog thread terminated with exception: CUDA error: no room\nSee it\n",
        "CUDA error: no room",
    ),
    (
        "terminate called after throwing an instance of 'c10::Error'\n  what():  no room\nframe #0",
        "no room",
    ),
    ("the step terminated\nwhat(): of the script's own\n", ""),
    ("terminated early\n", ""),
    ("terminate called\n what(): first\nterminate called\n what(): second\n", "second"),
    ("terminate called\n  what():  the end is not known: key-5a", ""),
    ("terminate called\n  what():  with key-5a1f\n", "with ***"),
]


@pytest.mark.parametrize(
    ("written", "abort"),
    ABORTS,
    ids=["watchdog", "c++", "like it", "none", "last", "cut", "masked"],
)
def test_what_a_process_says_of_its_abort_is_kept(written: str, abort: str) -> None:
    frames = "" if written.endswith("5a") else "frame\n" * 2000
    secrets = {"event": "secrets", "values": ["key-5a1f"]}
    heard, _ = read("epoch 1\n" + written + frames, [secrets])
    assert heard.abort.startswith(abort)
    assert bool(heard.abort) == bool(abort)


def read(written: str, told: list[dict[str, Any]]) -> tuple[RankOutput, list[dict[str, Any]]]:
    """What was heard of a rank that has written and told this, and the events."""
    output, status = os.pipe(), os.pipe()
    screen = os.open(os.devnull, os.O_WRONLY)
    console, found = Console("host-1", screen), list[Any]()
    heard = RankOutput(
        0, output[0], status[0], console, "", "stamp", lambda _, event: found.append(event)
    )
    os.write(output[1], written.encode())
    os.write(status[1], "".join(json.dumps(one) + "\n" for one in told).encode())
    os.close(output[1])
    os.close(status[1])
    heard.start()
    heard.join(10)
    os.close(screen)
    return heard, found

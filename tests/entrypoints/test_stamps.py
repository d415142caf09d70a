"""The stamp that a launcher looks for on the lines of guard and agent."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

from launch_runtime import horovod_names, lines, stamps
from launch_runtime.failures import ENDING, Failure
from launch_runtime.host import rank_environment
from launch_runtime.host.cluster import Cluster, Host
from launch_runtime.host.peers.ranks_door import Meeting
from launch_runtime.host.settings import read

from tests.places import ROOT

NONCE = "00112233445566778899aabbccddeeff"
TOLD = {"LAUNCH_WORLD_SIZE": "2", "LAUNCH_PROCESSES": "1", stamps.NONCE: NONCE}


def test_a_stamp_is_a_digest_from_which_nobody_learns_the_nonce() -> None:
    stamp = stamps.of(NONCE)
    assert stamp == hashlib.sha256(b"launch stamp " + NONCE.encode()).hexdigest()[:16]
    assert stamps.of("another") != stamp
    assert stamps.of("") == ""


def test_whoever_takes_the_stamp_leaves_no_nonce() -> None:
    environment = dict(TOLD)
    assert stamps.take(environment) == stamps.of(NONCE)
    assert stamps.NONCE not in environment
    assert stamps.take(environment) == ""


def test_a_rank_of_an_agent_finds_no_nonce() -> None:
    cluster = Cluster([Host("host-1", "127.0.0.1"), Host("host-2", "127.0.0.1")], 0, 1, False)
    settings = read(TOLD, managed=False)
    built = rank_environment.build(TOLD, cluster, settings, Meeting("127.0.0.1:1/word", 1), 0)
    assert stamps.NONCE not in built
    assert NONCE not in "".join(built.values())
    assert set(horovod_names.ALL) - set(built) <= {horovod_names.INTERFACE}


def test_lines_carry_the_stamp_where_there_is_one_and_are_the_same_without() -> None:
    text = lines.world(4, 2, 2, "Gloo")
    assert lines.proof(text) == "launch: proof: world size 4: 2 hosts x 2 ranks, Gloo"
    assert lines.proof(f"{text}; weights equal", "0123456789abcdef") == (
        "launch: proof: world size 4: 2 hosts x 2 ranks, Gloo; weights equal [0123456789abcdef]"
    )
    failure = Failure("host-1", "boom", ENDING)
    plain = json.loads(failure.line().partition("failure: ")[2])
    assert "stamp" not in plain
    stamped = json.loads(failure.line("0123456789abcdef").partition("failure: ")[2])
    assert stamped == {**plain, "stamp": "0123456789abcdef"}


def test_a_rank_that_takes_the_stamp_leaves_no_nonce_where_the_kernel_shows_its_environment() -> (
    None
):
    code = (
        "import os, sys\n"
        f"sys.path.insert(0, {str(ROOT / 'entrypoints')!r})\n"
        "from launch_runtime import stamps\n"
        "before = open('/proc/self/environ', 'rb').read()\n"
        "stamp = stamps.take(os.environ)\n"
        "after = open('/proc/self/environ', 'rb').read()\n"
        "same = [a for a, b in zip(before.split(b'\\0'), after.split(b'\\0')) if a != b]\n"
        "names = [name.partition(b'=')[0].decode() for name in same]\n"
        "print(stamp, names, len(before) == len(after))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"A": NONCE[::-1], stamps.NONCE: NONCE, "Z": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"{stamps.of(NONCE)} ['{stamps.NONCE}'] True"

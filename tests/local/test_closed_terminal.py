"""A terminal that is closed ends a local job in order, whatever was being written to it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.command import Launch
from tests.cli.terminal import on_terminal
from tests.waiting import processes_with, until

SILENT = "import time\nprint('begun', flush=True)\ntime.sleep(600)\n"
# The launcher is in the middle of a write when the terminal goes, and hears EIO before SIGHUP.
TALKATIVE = "print('begun', flush=True)\nwhile True:\n    print('x' * 100, flush=True)\n"
PROGRESS = """
import time
print('begun', flush=True)
for step in range(100000):
    print(f'progress: epoch 1/2, step {step}/100000, 5 images/s, loss 0.5', flush=True)
    time.sleep(0.001)
"""


@pytest.fixture(autouse=True)
def nothing_is_left(launch: Launch) -> Iterator[None]:
    """No process of the test's jobs outlives it."""
    yield
    word = str(launch.home.parent)
    until(lambda: not processes_with(word), "all processes gone")


def job_of(launch: Launch) -> dict[str, str]:
    return dict(launch("list", "--json").json[0])


def raw_log(launch: Launch, *words: str) -> bytes:
    done = subprocess.run(
        launch.command("logs", *words, "--raw"),
        env=launch.environment({}),
        capture_output=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("round_", range(2))
@pytest.mark.parametrize("script", [SILENT, TALKATIVE, PROGRESS], ids=["quiet", "busy", "bar"])
def test_a_closed_terminal_stops_the_job(launch: Launch, script: str, round_: int):
    launch.write("train.py", script)
    with on_terminal(launch, "local", "train.py") as terminal:
        terminal.wait_for(b"begun")
        terminal.close()
        assert terminal.code() == 130
    assert (job_of(launch)["state"], job_of(launch)["reason"]) == (
        "stopped",
        "stopped by its user",
    )


def test_a_terminal_that_closes_while_the_job_starts_leaves_no_lost_job(launch: Launch):
    launch.write("train.py", SILENT)
    with on_terminal(launch, "local", "train.py") as terminal:
        terminal.wait_for(b"output")  # the plan's last row
        terminal.close()
        assert terminal.code() == 130
    jobs = launch("list", "--json").json or []
    assert [job["state"] for job in jobs] in ([], ["stopped"])


def test_a_job_whose_command_ignores_the_hang_up_goes_on(launch: Launch):
    """As with nohup, which sends the output elsewhere."""
    launch.write(
        "train.py",
        "import os, time\nprint('begun', flush=True)\n"
        "while not os.path.exists('go'):\n    time.sleep(0.05)\n",
    )
    out = launch.folder / "out"
    words = ("sh", "-c", "trap '' HUP; exec \"$@\" >out 2>&1", "sh")
    with on_terminal(launch, "local", "train.py", before=words) as terminal:
        until(lambda: out.exists() and "begun" in out.read_text(), "begun")
        terminal.close()
        launch.write("go", "")
        assert terminal.code() == 0
    assert job_of(launch)["state"] == "succeeded"


def test_a_reader_of_both_streams_that_goes_away_ends_the_job_too(launch: Launch):
    launch.write("train.py", TALKATIVE)
    process = launch.start("local", "train.py")
    assert process.stdout is not None
    assert process.stderr is not None
    while "begun" not in process.stdout.readline():
        pass
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=60) == 130
    assert job_of(launch)["state"] == "stopped"


def test_what_ranks_print_reaches_the_terminal_without_its_escape_sequences(launch: Launch):
    launch.write(
        "train.py",
        "import sys\n"
        "print('\\x1b]0;owned\\x07\\x1b[31mred\\x1b[0m \\x1b[2Jwiped \\u202eback')\n"
        "print('launch: evidence: {\"rank\": 0}')\n"
        "sys.stdout.write('10%\\r20%\\n')\n"
        "sys.stdout.flush(); sys.stdout.buffer.write(b'\\xff\\x9b2J byte\\n')\n"
        "raise ValueError('\\x1b[31mbad\\x07\\u202e reason')\n",
    )
    with on_terminal(launch, "local", "train.py") as terminal:
        terminal.wait_for(b"the rest: launch logs")
        shown = terminal.shown.decode("utf-8", "replace")
    ours = re.compile(r"\x1b\[(?:\d+m|K)|\r")
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", ours.sub("", shown)) is None
    assert "red wiped back" in ours.sub("", shown)
    assert "\x1b[31mred" not in shown
    assert "\x1b[2J" not in shown
    job = job_of(launch)
    listed = launch("list").out
    assert "ValueError: " in job["reason"]
    assert "\x1b" not in job["reason"] + listed
    raw = raw_log(launch, job["name"], "--rank", "0")
    assert raw == (launch.home / "jobs" / job["name"] / "logs" / "rank-0.log").read_bytes()
    assert b"\xff\x9b2J byte\n" in raw
    assert "launch: evidence: " not in shown
    tagged = raw_log(launch, job["name"])
    assert b'[host-1/0] launch: evidence: {"rank": 0}\n' in tagged
    assert b"[host-1/0] \xff\x9b2J byte\n" in tagged
    assert "\x1b" not in launch("logs", job["name"], "--rank", "0").out
    assert "\x1b" not in launch("logs", job["name"]).out
    assert "\u202e" not in launch("logs", job["name"], "--json").out

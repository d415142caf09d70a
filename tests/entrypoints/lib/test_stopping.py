"""Signals go to processes of their own: pytest's main thread is not always free."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from entrypoints.lib import stopping
from tests.places import ENTRYPOINTS

SECONDS = 60.0
BEGIN = """
import ctypes, os, signal, sys, threading, time
from lib.stopping import StopSignal
def stick():
    # C code that no signal ends and that lets other threads run: a lock taken twice.
    lock, c = ctypes.create_string_buffer(64), ctypes.CDLL(None)
    while True:
        c.pthread_mutex_lock(lock)
def until(true):
    while not true():
        time.sleep(0.005)
def ready():
    print("ready", flush=True)
"""


@contextmanager
def program(text: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program that says "ready"; given once it has."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + textwrap.dedent(text)],
        env={**os.environ, "PYTHONPATH": str(ENTRYPOINTS)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whatever started the tests may ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    )
    assert process.stdout is not None
    watchdog = threading.Timer(SECONDS, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def test_the_first_sigterm_is_noted_and_ends_nothing() -> None:
    with program(
        """
        with StopSignal() as stop:
            ready()
            until(lambda: stop.requested)
        print("went on")
        """
    ) as process:
        process.terminate()
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (0, "went on\n", "")


def test_a_second_sigterm_ends_at_once_though_c_code_holds_the_main_thread() -> None:
    with program(
        """
        with StopSignal() as stop:
            threading.Thread(
                target=lambda: (until(lambda: stop.requested), print("noted", flush=True))
            ).start()
            ready()
            stick()
        """
    ) as process:
        process.terminate()
        assert process.stdout is not None
        assert process.stdout.readline() == "noted\n"
        process.terminate()
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == stopping.EXIT_CODE == 143
    assert "stopped at once: SIGTERM came a second time; the checkpoints" in err


def test_a_rank_that_reaches_no_step_ends_when_the_time_is_over() -> None:
    with program(
        """
        with StopSignal(patience=0.2) as stop:
            ready()
            stick()
        """
    ) as process:
        process.terminate()
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 143
    assert "stopped at once: no step has ended on all ranks 0.2 s after SIGTERM" in err


def test_a_rank_that_has_ended_its_training_in_time_is_left_alone() -> None:
    with program(
        """
        with StopSignal(patience=0.2) as stop:
            ready()
            until(lambda: stop.requested)
        until(lambda: threading.active_count() == 1)
        print("the checkpoint is written")
        """
    ) as process:
        process.terminate()
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (0, "the checkpoint is written\n", "")


def test_outside_of_the_training_sigterm_is_what_it_was() -> None:
    with program(
        """
        with StopSignal():
            pass
        ready()
        stick()
        """
    ) as process:
        process.terminate()
        process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGTERM


def test_a_forked_process_dies_of_its_own_sigterm_and_the_rank_hears_nothing_of_it() -> None:
    with program(
        """
        with StopSignal() as stop:
            child = os.fork()
            if child == 0:
                stick()
            os.kill(child, signal.SIGTERM)  # perhaps before it has run a line of Python
            _, status = os.waitpid(child, 0)
            ready()
            print(os.WTERMSIG(status), stop.requested, file=sys.stderr)
        """
    ) as process:
        # Not by standard output: its second line may lie in the buffer of the first.
        _, error = process.communicate(timeout=SECONDS)
    assert error == f"{int(signal.SIGTERM)} False\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [("20", 19.5), ("0", 0.5), ("", stopping.PATIENCE_SECONDS), ("soon", 100.0), ("inf", 100.0)],
)
def test_the_time_that_ranks_have_is_what_their_agent_was_told(given: str, expected: float) -> None:
    assert stopping.patience({stopping.STOP_SECONDS: given}) == expected

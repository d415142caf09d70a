"""Masks secrets in all that a rank writes, by whatever process and language it is written.

An agent reads the rank's output anyway, and is told what to mask. Elsewhere (under mpirun) stdout
and stderr become pipes to a process of ours that hands on what it reads. It is no thread of the
guard: it has to outlive a rank that is killed, and to read on while C code holds the interpreter.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import warnings
from typing import Sequence

from launch_runtime import lines
from launch_runtime.masking import Masker
from launch_runtime.rank import exit_hook

_SETTLE_MILLISECONDS = 5000
_guard = 0
_question = _answer = -1


def start(values: Sequence[str]) -> None:
    """From now on ``values`` are masked in what this process and its children write.

    Args:
        values: From :func:`launch_runtime.masking.parts`.

    Raises:
        OSError: No more processes or descriptors.
    """
    global _guard, _question, _answer
    _flush()
    # What both streams have gone into as one stays in its order.
    targets = [1] if _same(1, 2) else [1, 2]
    pipes = [os.pipe() for _ in targets]
    asked, _question = os.pipe()
    _answer, answers = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking beside threads: the child starts none
        child = os.fork()
    if child == 0:
        _become_filter([end for end, _ in pipes], targets, asked, answers, values)
    for (reader, writer), target in zip(pipes, targets):
        os.dup2(writer, target)
        os.close(writer)
        os.close(reader)
    if len(targets) == 1:
        os.dup2(1, 2)
    os.close(asked)
    os.close(answers)
    os.waitpid(child, 0)
    _guard = os.getpid()
    # Registered before the script registers anything, so it comes last.
    atexit.register(settle)


def settle() -> None:
    """Blocks until what the rank has written so far is handed on, a few seconds at most.

    mpirun may end the host's processes as soon as a rank has failed.
    """
    if os.getpid() != _guard:
        return
    _flush()
    try:
        os.write(_question, b"?")
        poll = select.poll()
        poll.register(_answer, select.POLLIN)
        if poll.poll(_SETTLE_MILLISECONDS):
            os.read(_answer, 1)
    except OSError:  # the script has closed all descriptors
        return


def _become_filter(
    pipes: Sequence[int],
    targets: Sequence[int],
    asked: int,
    answers: int,
    values: Sequence[str],
) -> None:
    """Leaves the guard's session, so that what ends the rank lets this process drain it; its
    parent is gone, so that the script never waits for a child that it doesn't know."""
    try:
        os.setsid()
        if os.fork():
            return
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        kept = sorted({*pipes, 1, 2, asked, answers})
        for low, high in zip([-1, *kept], [*kept, os.sysconf("SC_OPEN_MAX")]):
            os.closerange(low + 1, min(high, 1 << 16))
        os.chdir("/")
        _hand_on(dict(zip(pipes, targets)), asked, answers, values)
    except BaseException:  # nobody reads any more; the rank is told by its next write
        return
    finally:
        exit_hook.at_once(0)


def _hand_on(ways: dict[int, int], asked: int, answers: int, values: Sequence[str]) -> None:
    """Until every process that has the rank's output has ended."""
    maskers = {pipe: Masker(values) for pipe in ways}
    poll = select.poll()
    for descriptor in (*ways, asked):
        poll.register(descriptor, select.POLLIN)
    waiting = 0
    while maskers:
        ready = {descriptor for descriptor, _ in poll.poll(0 if waiting else None)}
        for pipe in ready & maskers.keys():
            data = os.read(pipe, 1 << 16)
            masker = maskers[pipe]
            lines.write_all(ways[pipe], masker.feed(data) if data else masker.flush())
            if not data:
                poll.unregister(pipe)
                del maskers[pipe]
        if asked in ready:
            given = len(os.read(asked, 1))
            waiting += given
            if not given:
                poll.unregister(asked)
        elif waiting and not ready:
            os.write(answers, b"." * waiting)
            waiting = 0


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue


def _same(one: int, other: int) -> bool:
    first, second = os.fstat(one), os.fstat(other)
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)

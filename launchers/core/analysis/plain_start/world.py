"""The world, or the worlds, that the hosts of one job make by what each of them starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from launchers.core.analysis.plain_start.model import Start
from launchers.core.planning.plan import counted, spread


@dataclass(frozen=True)
class Hosts:
    """Hosts that start the same.

    Attributes:
        start: What each of them starts.
        count: How many; None where that is no number.
        gpus: GPUs of each.
    """

    start: Start
    count: int | None
    gpus: int = 0


@dataclass(frozen=True)
class World:
    """What all hosts start together.

    Attributes:
        started: Ranks of the world, of each of them where there are ``copies``; None where that
            cannot be told.
        because: Why, in one clause; of None why it cannot be told.
        copies: How many worlds there are that know nothing of each other.
        never: Why the world never comes together; empty where it does, or nobody knows.
        spans: Whether one world is known to reach over several hosts.
        alone: On how many hosts a plain Python program runs, where only the script says what they
            are together; else 0.
    """

    started: int | None
    because: str
    copies: int = 1
    never: str = ""
    spans: bool = False
    alone: int = 0


def world_of(hosts: Sequence[Hosts], unit: str = "host", told: str = "") -> World:
    """What ``hosts`` start together. Pure.

    Args:
        unit: What the provider calls one of them: ``replica``, ``host``.
        told: What the provider tells a plain program about the other hosts, as a clause; it may
            make a world of it.
    """
    if any(one.count is None for one in hosts):
        return World(None, f"how many {unit}s there are is not known here")
    working = [one for one in hosts if one.count and not one.start.idle]
    copies = sum(one.count for one in working if one.count)
    if not copies:
        return World(None, "nothing in it starts ranks")
    starts = [one.start for one in working]
    never = next((start.waits for start in starts if start.waits), "")
    if never:
        return World(None, never, never=never)
    unread = next((start.unknown for start in starts if not start.closed and start.unknown), "")
    if unread:
        return World(None, unread)
    if len({(start.launcher, start.closed) for start in starts}) > 1:
        return World(None, f"its {unit}s start different things")
    first, *_ = starts
    if not first.launcher:
        return _plain(first.text, max(one.gpus for one in working), copies, unit, told)
    if first.closed:
        return _closed(starts, copies, unit)
    if first.hosts is None:
        return _by_ssh(first, copies, unit)
    return _meeting(working, copies, unit)


def _plain(text: str, gpus: int, copies: int, unit: str, told: str) -> World:
    """Plain Python: one process on each host; what the processes do together is in the script."""
    if copies > 1:
        known = f" ({told})" if told else ""
        because = f"{text} on each of {copies} {unit}s{known}: only the script says what joins them"
        return World(None, because, alone=copies)
    if gpus > 1:
        return World(None, f"{text} is one process with {gpus} GPUs: only the script says the rest")
    return World(1, f"{text}, one process")


def _closed(starts: Sequence[Start], copies: int, unit: str) -> World:
    """Each host has a world of its own."""
    (first, *_), sizes = starts, {start.each for start in starts}
    size = sizes.pop() if len(sizes) == 1 else None
    if copies == 1:
        return World(size, first.unknown or f"{first.text} on one {unit}")
    each = f"world size {size}" if size is not None else "its own ranks"
    because = f"{first.text} on each of {copies} {unit}s: {copies} jobs of {each}"
    return World(size, f"{because} that know nothing of each other", copies=copies)


def _by_ssh(start: Start, copies: int, unit: str) -> World:
    """One launcher that reaches the others by ssh."""
    if copies > 1:
        return World(None, f"{start.text} with a list of hosts on each of {copies} {unit}s")
    return World(start.ranks, f"{start.text} over the hosts it is given, by ssh", spans=True)


def _meeting(working: Sequence[Hosts], copies: int, unit: str) -> World:
    """Copies that meet at one address."""
    first, *_ = [one.start for one in working]
    assert first.hosts is not None
    least, most = first.hosts
    if any(one.start.hosts != first.hosts for one in working):
        return World(None, f"its {unit}s are given different host counts")
    if not least <= copies <= most:
        meant = counted(most, "host") if least == most else f"{least} to {most} hosts"
        never = f"{first.text}: {meant} are waited for, and {copies} of this job start it"
        return World(None, never, never=never)
    if least < most:
        each = f" x {counted(first.each, 'process')}" if first.each else ""
        return World(None, f"{first.text} begins with {least} to {copies} hosts{each}")
    twice = _node_twice(working, unit)
    if twice:
        return World(None, f"{first.text}: {twice}", never=f"{first.text}: {twice}")
    ranks = [(one.count, one.start.each) for one in working if one.count and one.start.each]
    sizes = {each for _, each in ranks}
    where = spread(copies, sizes.pop()) if len(sizes) == 1 else counted(copies, "host")
    total = sum(count * each for count, each in ranks)
    return World(total, f"{first.launcher} over {where}", spans=True)


def _node_twice(working: Sequence[Hosts], unit: str) -> str:
    """Why hosts take one number for themselves; empty where each has its own."""
    seen: set[int] = set()
    for one in working:
        node = one.start.node
        if node is None:
            continue
        if node in seen or (one.count or 0) > 1:
            return f"several {unit}s say that they are number {node}, and the others never come"
        seen.add(node)
    return ""

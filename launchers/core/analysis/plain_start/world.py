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
    working = [one for one in hosts if not one.start.idle]
    copies = sum(one.count or 0 for one in working)
    if not working or not copies:
        return World(None, "nothing in it starts ranks")
    never = next((one.start.waits for one in working if one.start.waits), "")
    if never:
        return World(None, never, never=never)
    unread = [one.start for one in working if one.start.unknown and not one.start.closed]
    if unread:
        return World(None, unread[0].unknown)
    launchers = {one.start.launcher for one in working}
    kinds = {(one.start.launcher, one.start.closed) for one in working}
    if len(kinds) > 1:
        return World(None, f"its {unit}s start different things")
    if launchers == {""}:
        return _plain(working, copies, unit, told)
    if working[0].start.closed:
        return _closed(working, copies, unit)
    if working[0].start.hosts is None:
        return _by_ssh(working[0].start, copies, unit)
    return _meeting(working, copies, unit)


def _plain(working: Sequence[Hosts], copies: int, unit: str, told: str) -> World:
    """Plain Python: one process on each host; what the processes do together is in the script."""
    text, gpus = working[0].start.text, max(one.gpus for one in working)
    if copies > 1:
        known = f" ({told})" if told else ""
        because = f"{text} on each of {copies} {unit}s{known}: only the script says what joins them"
        return World(None, because, alone=copies)
    if gpus > 1:
        return World(None, f"{text} is one process with {gpus} GPUs: only the script says the rest")
    return World(1, f"{text}, one process")


def _closed(working: Sequence[Hosts], copies: int, unit: str) -> World:
    """Each host has a world of its own."""
    starts = [one.start for one in working]
    sizes = {start.each for start in starts}
    size = starts[0].each if len(sizes) == 1 else None
    text = starts[0].text
    if copies == 1:
        because = f"{text} on one {unit}" if size is not None else starts[0].unknown
        return World(size, because)
    each = f"world size {size}" if size is not None else "its own ranks"
    because = (
        f"{text} on each of {copies} {unit}s: {copies} jobs of {each} that know nothing of each "
        "other"
    )
    return World(size, because, copies=copies)


def _by_ssh(start: Start, copies: int, unit: str) -> World:
    """One launcher that reaches the others by ssh."""
    if copies > 1:
        return World(None, f"{start.text} with a list of hosts on each of {copies} {unit}s")
    return World(start.ranks, f"{start.text} over the hosts that it is told of, by ssh", spans=True)


def _meeting(working: Sequence[Hosts], copies: int, unit: str) -> World:
    """Copies that meet at one address."""
    first = working[0].start
    assert first.hosts is not None
    least, most = first.hosts
    if any(one.start.hosts != first.hosts for one in working):
        return World(None, f"its {unit}s are told of different numbers of hosts")
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
    sizes = [one.start.each for one in working]
    if any(size is None for size in sizes):
        return World(None, next(one.start.unknown for one in working if one.start.unknown))
    total = sum((one.start.each or 0) * (one.count or 0) for one in working)
    same = len(set(sizes)) == 1
    where = spread(copies, sizes[0] or 0) if same else counted(copies, "host")
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

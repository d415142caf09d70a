"""What one copy of a command line starts, in words that hold for every launcher."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

_LOCAL = ("localhost", "127.0.0.1", "::1", "[::1]")


@dataclass(frozen=True)
class Start:
    """What one copy starts on its own host, and which world that belongs to.

    Attributes:
        launcher: ``horovodrun``, ``mpirun``, ``torchrun``, ``accelerate``, ``deepspeed``; empty
            for a plain Python program and for what cannot be read.
        text: Its beginning as it stands, for a message: ``horovodrun -np 4``.
        each: Ranks that a copy starts on its own host; None where its words don't say.
        ranks: Ranks of a world that one copy starts on other hosts too, by ssh.
        hosts: At least and at most how many hosts its world has: (1, 1) closes it. None where
            nothing says it.
        finds: Whether the copies of several hosts are told where they meet.
        node: The copy's number among the hosts; None where each has its own, or needs none.
        waits: Why the world never comes together, however many copies there are.
        unknown: Why nothing, or not the number of ranks, can be told.
        dropped: Why nobody hears of its exit code; empty where the container passes it on.
        idle: Whether it only waits for another copy's launcher, as sshd does.
    """

    launcher: str = ""
    text: str = ""
    each: int | None = None
    ranks: int | None = None
    hosts: tuple[int, int] | None = None
    finds: bool = False
    node: int | None = None
    waits: str = ""
    unknown: str = ""
    dropped: str = ""
    idle: bool = False

    @property
    def closed(self) -> bool:
        """Whether it starts a world of its own on its own host, whatever the other hosts do."""
        return bool(self.launcher) and self.hosts == (1, 1) and not self.waits


@dataclass(frozen=True)
class Options:
    """A launcher's own options, with hyphens between their words.

    Attributes:
        values: What each option got; an empty text for one without a value.
        unread: A word among them that is known only when it runs; empty for none.
        rest: What follows them: the program and its arguments.
    """

    values: Mapping[str, str]
    unread: str
    rest: tuple[str, ...]

    def first(self, *names: str) -> str | None:
        """The value of the first of ``names`` that was given."""
        return next((self.values[name] for name in names if name in self.values), None)


def options(words: Sequence[str], switches: Collection[str]) -> Options:
    """The options in front of a program, each ``--name value`` or ``--name=value``, with ``_`` or
    ``-`` in its name; those of ``switches`` take no value."""
    values: dict[str, str] = {}
    unread = ""
    left = list(words)
    while left:
        word = left[0]
        if word.startswith("$"):
            unread = unread or word
        elif not word.startswith("-"):
            break
        left = left[1:]
        name, equals, value = word.partition("=")
        name = name[:2] + name[2:].replace("_", "-")
        if name in switches or word.startswith("$"):
            values.setdefault(name, "")
        elif equals:
            values[name] = value
        elif left:
            values[name], left = left[0], left[1:]
    return Options(values, unread, tuple(left))


def number(text: str | None) -> int | None:
    """A whole number that a launcher takes; None for anything else."""
    is_number = text is not None and re.fullmatch(r"\d{1,9}", text, re.ASCII)
    return int(text) if is_number and text is not None else None


def is_local(address: str) -> bool:
    """Whether an address, with a port or without, is the host's own."""
    return any(address == name or address.startswith(f"{name}:") for name in _LOCAL)


def not_expanded(words: Sequence[str], expanded: bool) -> str:
    """The first word with a variable that no shell puts a value for; empty for none."""
    if expanded:
        return ""
    return next((word for word in words if re.search(r"\$(\w|\{)", word)), "")


def gpus_seen(gpus: int, variables: Mapping[str, str]) -> int:
    """GPUs that a process sees of so many: CUDA_VISIBLE_DEVICES may list fewer."""
    listed = variables.get("CUDA_VISIBLE_DEVICES")
    if listed is None or not re.fullmatch(r"\d+(,\d+)*", listed):
        return gpus
    return min(gpus, listed.count(",") + 1)

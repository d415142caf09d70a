"""The text of ``faulthandler``: read, shortened, and what it says of a rank that waits.

What is told of a stack rests on the names of files and functions alone. ``quick_execute`` of
TensorFlow may compute or wait; so a rank whose stack says that it waits may do other things, and
one whose stack doesn't say so is somewhere else for certain.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

MOST_THREADS, MOST_FRAMES = 12, 30  # of one process that are shown

_HEAD = re.compile(
    r"(?:Current thread|Thread) 0x[0-9a-f]+(?: \[(.*)\])? \(most recent call first\):"
)
_FRAME = re.compile(r'  File "(.*)", line (\d+|\?\?\?) in (.*)')
_OURS, _IMPORTING = "/launch_runtime/", "<frozen importlib."
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen ", "<string>")
_NO_CALL = ("wrapper", "<module>")  # of a decorator; of a module that is being imported
_START = "/launch_runtime/rank/user_script.py"  # in the stack of what runs the script


class Frame(NamedTuple):
    """One call: file, line and function."""

    path: str
    line: str
    function: str

    @property
    def is_own(self) -> bool:
        """Whether it is the user's: neither a library's nor the launcher's."""
        return not any(part in self.path for part in (_OURS, *_LIBRARIES))

    def __str__(self) -> str:
        return "{}:{} {}".format(self.path.rpartition("/")[2], self.line, self.function)


class Thread(NamedTuple):
    """One thread's calls, the most recent first, without those of the launcher's own."""

    name: str
    is_main: bool
    frames: tuple[Frame, ...]

    @property
    def own(self) -> Frame | None:
        """The user's frame that was entered last."""
        return next((frame for frame in self.frames if frame.is_own), None)


class Wait(NamedTuple):
    """Where a rank waits for others: a part of a path, and the functions (all where empty)."""

    path: str
    functions: tuple[str, ...] = ()

    def holds(self, frame: Frame) -> bool:
        """Whether ``frame`` is such a place."""
        return self.path in frame.path and (not self.functions or frame.function in self.functions)


def read(text: str) -> list[Thread]:
    """The threads of a dump, the main one first; others that are in Python's own library alone, or
    in the launcher, are left out."""
    blocks: list[tuple[re.Match[str], list[Frame]]] = []
    for line in text.splitlines():
        head, frame = _HEAD.fullmatch(line), _FRAME.fullmatch(line)
        if head:
            blocks.append((head, []))
        elif frame and blocks:
            blocks[-1][1].append(Frame(*frame.groups()))
    started = [any(_START in frame.path for frame in frames) for _, frames in blocks]
    if blocks and not any(started):
        started[-1] = True  # a deep stack's oldest calls aren't in a dump, which ends with main's
    threads = [
        Thread(head.group(1) or "", is_main, _without_ours(frames))
        for (head, frames), is_main in zip(blocks, started)
    ]
    kept = [thread for thread in threads if thread.is_main or not _is_idle(thread)]
    return sorted(kept, key=lambda thread: not thread.is_main)


def _without_ours(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    forked = next((i for i, frame in enumerate(frames) if _is_fork(frame)), len(frames))
    frames = frames[:forked]  # what is behind it are its parent's calls
    kept = [frame for frame in frames if _OURS not in frame.path and _IMPORTING not in frame.path]
    if len(kept) < len(frames) and kept and kept[-1].path.endswith("/guard.py"):
        del kept[-1]
    while kept and (kept[-1].path.startswith("<frozen runpy") or _starts_thread(kept[-1])):
        del kept[-1]
    return tuple(kept)


def _is_fork(frame: Frame) -> bool:
    at_start = frame.path.endswith("/multiprocessing/process.py")
    return at_start and frame.function == "_bootstrap"


def _starts_thread(frame: Frame) -> bool:
    of_library = "/lib/python" in frame.path and "-packages/" not in frame.path
    return of_library and frame.path.endswith("/threading.py") and "bootstrap" in frame.function


def _is_idle(thread: Thread) -> bool:
    """Whether it is nowhere but in Python's own library: a worker that waits for work."""
    return all(
        "/lib/python" in frame.path and "-packages/" not in frame.path for frame in thread.frames
    )


def shown(threads: Sequence[Thread]) -> list[str]:
    """Lines for people: the main thread, then the others, equal ones together."""
    alike: dict[tuple[bool, tuple[Frame, ...]], list[str]] = {}
    for thread in threads:
        alike.setdefault((thread.is_main, thread.frames), []).append(thread.name)
    found: list[str] = []
    for (is_main, frames), names in list(alike.items())[:MOST_THREADS]:
        what = "main thread" if is_main else f"thread {names[0]}".rstrip()
        others = f" and {len(names) - 1} more like it" if len(names) > 1 else ""
        found.append(f"  {what}{others}, most recent call first:")
        found += [
            f'    File "{f.path}", line {f.line} in {f.function}' for f in frames[:MOST_FRAMES]
        ]
        if len(frames) > MOST_FRAMES:
            found.append(f"    ... {len(frames) - MOST_FRAMES} more")
    if len(alike) > MOST_THREADS:
        found.append(f"  ... {len(alike) - MOST_THREADS} more threads")
    return found


def waits_in(thread: Thread, waits: Sequence[Wait]) -> str:
    """The function in which a thread waits for other ranks, the one that the user's code called;
    or ""."""
    found = ""
    for frame in thread.frames:
        if frame.is_own:
            break
        if frame.function not in _NO_CALL and any(wait.holds(frame) for wait in waits):
            found = frame.function
    return found

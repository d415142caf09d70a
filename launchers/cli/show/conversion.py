"""A conversion on a screen: how far it is, with rate and time left, and what came of it."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping
from typing import Any

from launchers.cli.show import progress
from launchers.cli.show.data_place import bytes_text
from launchers.cli.show.output import say, styled
from launchers.core.paths import entrypoints_folder
from launchers.core.planning.plan import counted
from launchers.core.printable import printable
from launchers.core.spec.job import SHARED_SCRIPT
from launchers.docker.progress import clock

# Bad pictures that are named; the manifest lists all of them.
MOST_NAMED = 10


class ConversionScreen:
    """Shows events of the converter as they come, on stderr: a bar on a terminal, a line every 15 s
    in a pipe. A context manager."""

    def __init__(self) -> None:
        draws = progress.draws(sys.stderr)
        self._bar = progress.Bar(sys.stderr, progress.NOTED) if draws else None
        self._told = time.monotonic()
        self.bad: list[tuple[str, str]] = []

    def __enter__(self) -> ConversionScreen:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.end()

    def show(self, event: Mapping[str, Any]) -> None:
        """One event."""
        kind = event["event"]
        if kind == "start":
            self._say_start(event)
        elif kind == "progress":
            self._progress(event)
        elif kind == "bad":
            self._bad(str(event["path"]), str(event["reason"]))
        elif kind == "warning":
            say(f"{styled('warning', 'yellow')}: {event['message']}")

    def _say_start(self, event: Mapping[str, Any]) -> None:
        classes = event["classes"]
        number = classes if isinstance(classes, int) else len(classes)
        say(
            f"{styled('data', 'bold')}  {event['pictures']:,} pictures of {_classes(number)}, "
            f"{bytes_text(event['bytes'])}, from {event['source']} to {event['place']}"
        )
        if event["tasks_done"]:
            say(f"  goes on: {event['tasks_done']} of {event['tasks']} parts are done")
        if event["ignored"]:
            say(f"  {counted(event['ignored'], 'file')} that {_are(event['ignored'])} no picture")

    def _progress(self, event: Mapping[str, Any]) -> None:
        done, total = event["pictures_done"], event["pictures"]
        label = f"{done:,} of {total:,} pictures"
        note = _pace(event.get("rate"), event.get("seconds_left"))
        if self._bar is not None:
            self._bar.show(label, done, total, note)
        elif time.monotonic() - self._told >= progress.PIPE_SECONDS:
            self._told = time.monotonic()
            say(", ".join(filter(None, (f"  {label}", note))))

    def _bad(self, path: str, reason: str) -> None:
        self.bad.append((path, reason))
        if len(self.bad) <= MOST_NAMED:
            say(f"{styled('left out', 'yellow')}: {path}: {reason}")
        elif len(self.bad) == MOST_NAMED + 1:
            say(f"{styled('left out', 'yellow')}: more, which the manifest lists")


def say_converted(event: Mapping[str, Any], place: str) -> None:
    """What a result is, and the commands that come next.

    Args:
        place: As its user named it.
    """
    classes = event["classes"]
    number = classes if isinstance(classes, int) else len(classes)
    title = styled(printable(place), "bold")
    if event["made"]:
        rate = f" ({event['rate']:,.0f}/s)" if event.get("rate") else ""
        say(f"{title}: {_contents(event)} of {_classes(number)} in {clock(event['seconds'])}{rate}")
    else:
        say(f"{title}: {_contents(event)} of {_classes(number)}, made before by the same command")
    for name, split in event["splits"].items():
        size = f"{split['rows']:,} rows in {counted(split['files'], 'file')}"
        say(f"  {name.ljust(10)}  {size}, {bytes_text(split['bytes'])}")
    if event["bad"]:
        say(f"  {counted(event['bad'], 'picture')} left out; manifest.json says why")
    say(f"next: launch data info {shlex.quote(place)}")
    if not {"test", "validation"} & set(event["splits"]):
        say("      the shared scripts test on a split, which --split 0.9,0.1 makes")
        return
    # Ranks run in a folder of their own: only the whole path is good there.
    script = shlex.quote(str(entrypoints_folder() / SHARED_SCRIPT))
    data = shlex.quote(f"parquet:{event['place']}")
    say(f"      launch local {script} --instances 2 -- --data {data}")


def _contents(event: Mapping[str, Any]) -> str:
    pictures, rows = event["pictures"] - event["bad"], event["rows"]
    copies = "" if rows <= pictures else f" with copies, {rows:,} rows,"
    return f"{pictures:,} pictures{copies}"


def _classes(number: int) -> str:
    return counted(number, "class")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _pace(rate: float | None, left: float | None) -> str:
    """``640/s, 0:31 left``; what is not known is not said."""
    parts = [f"{rate:,.0f}/s" if rate else "", f"{clock(left)} left" if left is not None else ""]
    return ", ".join(filter(None, parts))

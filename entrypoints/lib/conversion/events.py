"""What a conversion says while it runs: one JSON object a line, or lines for people."""

from __future__ import annotations

import json
import sys
from typing import Any, Callable, Mapping

Say = Callable[[Mapping[str, Any]], None]


def speaker(as_json: bool) -> Say:
    """Says events on stdout; as plain lines, errors and warnings on stderr.

    Events: start, ready, progress, bad, warning, result, error; their keys are those of ``run.py``.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a path may be anything
            stream.reconfigure(errors="backslashreplace")
    return _say_json if as_json else _say_plainly


def _say_json(event: Mapping[str, Any]) -> None:
    print(json.dumps(event), flush=True)


def _say_plainly(event: Mapping[str, Any]) -> None:
    if event["event"] not in _LINES:
        return
    line = _LINES[event["event"]](event)
    is_trouble = event["event"] in ("error", "warning", "bad")
    print(line, file=sys.stderr if is_trouble else sys.stdout, flush=True)


def _start(event: Mapping[str, Any]) -> str:
    after = f", goes on after {event['tasks_done']}" if event["tasks_done"] else ""
    ignored = f", {event['ignored']} other files left out" if event["ignored"] else ""
    return (
        f"{event['source']}: {event['pictures']} pictures of {len(event['classes'])} classes, "
        f"{event['bytes'] / 1e6:.1f} MB{ignored}; {event['tasks']} tasks{after}, "
        f"engine {event['engine']}"
    )


def _progress(event: Mapping[str, Any]) -> str:
    rate = "" if event["rate"] is None else f", {event['rate']:.0f} a second"
    left = "" if event["seconds_left"] is None else f", {event['seconds_left']:.0f} s left"
    return f"{event['pictures_done']} of {event['pictures']} pictures{rate}{left}"


def _result(event: Mapping[str, Any]) -> str:
    splits = ", ".join(f"{name} {split['rows']}" for name, split in event["splits"].items())
    bad = f", {event['bad']} bad pictures left out" if event["bad"] else ""
    how = f"in {event['seconds']:.1f} s" if event["made"] else "finished before"
    return f"{event['place']}: {splits}{bad}; {how}"


_LINES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "start": _start,
    "progress": _progress,
    "result": _result,
    "bad": lambda event: f"bad picture: {event['path']}: {event['reason']}",
    "warning": lambda event: f"convert_images.py: warning: {event['message']}",
    "error": lambda event: f"convert_images.py: error: {event['message']}",
}

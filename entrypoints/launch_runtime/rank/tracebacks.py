"""Tracebacks as ``python SCRIPT`` prints them, and which errors only follow another rank's."""

from __future__ import annotations

import os
import re
import sys
from types import TracebackType
from typing import Callable

from launch_runtime import lines

_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")

# What a rank meets when another one has gone: Horovod's own error, TensorFlow's and Gloo's words
# for it (Horovod 0.28.1, horovod/common/common.h; TensorFlow 2.18 wraps it as UnknownError), and
# the error with which the shared training scripts say that another rank has the reason.
_CONSEQUENCE_TYPES = {"PeerEndedError"}
_CONSEQUENCE_WORDS = (
    "Horovod has been shut down",
    "HorovodInternalError",
    "Connection closed by peer",
    "Connection reset by peer",
)
# Horovod raises its one error also where all are there: ranks ask for what does not match, a name
# is used twice (horovod/common/controller.cc), NCCL refuses two ranks on one GPU or memory is out.
_OWN_FAULT = re.compile(
    r"Mismatched |Duplicate tensor name|invalid root rank|failed: invalid (?:usage|argument)|"
    r"(?i:out of memory)"
)

# TensorFlow 2.18; where it has no frames to show it says so.
_GRAPH_ERROR, _FRAMES = "Graph execution error:", ('  File "', "<stack traces unavailable>")
_TENSORFLOW_NODE = re.compile(r"\{\{function_node [^}]*\}\} ")  # before a message; says little


def show(error: BaseException) -> None:
    """Prints an error that nobody caught, through ``sys.excepthook`` as Python does."""
    _strip(error, set())
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except Exception:
        sys.__excepthook__(type(error), error, error.__traceback__)


def describe(error: BaseException) -> str:
    """Type and text in one line: ``ValueError: boom``."""
    return lines.one_line(_described(error))


def _described(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be printed)"
    text = _without_frames(_TENSORFLOW_NODE.sub("", text))
    return f"{name}: {text}" if text else name


def _without_frames(text: str) -> str:
    """The message of TensorFlow's error, without the frames in which the graph was made, which it
    has ahead of it and which fill more than a line."""
    if not text.startswith(_GRAPH_ERROR):
        return text
    found = text.splitlines()
    frames = [at for at, line in enumerate(found) if line.startswith(_FRAMES)]
    return "\n".join(found[frames[-1] + 1 :]).strip() or text if frames else text


def names_peer(error: BaseException) -> bool:
    """Whether an error says, in one of the ways that all strategies have, that a peer is gone."""
    return type(error).__name__ in _CONSEQUENCE_TYPES or says_peer_ended(_described(error))


def says_peer_ended(text: str) -> bool:
    """The same of an error's text, or of a line that a library has printed."""
    return not _OWN_FAULT.search(text) and any(word in text for word in _CONSEQUENCE_WORDS)


def is_consequence(
    error: BaseException | None, names: Callable[[BaseException], bool] = names_peer
) -> bool:
    """Whether an error, or one that it was raised over, looks like another rank's failure.

    Args:
        error: What the script has raised.
        names: Whether one error alone says so, in the words of the job's strategy.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if names(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _strip(error: BaseException | None, seen: set[int]) -> None:
    """Takes this package's frames out of an error's traceback and of those it followed from."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _without_ours(error.__traceback__)
    _strip(error.__cause__, seen)
    _strip(error.__context__, seen)


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_OURS):
            kept.append(traceback)
        traceback = traceback.tb_next
    for frame, following in zip(kept, [*kept[1:], None]):
        frame.tb_next = following
    return kept[0] if kept else None

"""What a source tree uses of Keras and Horovod, read without importing anything of it.

Only files that the script reaches by its imports are opened, and only those that may use what
Keras 3 alone has are parsed.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from launch_runtime.keras.names import may_be_new
from launch_runtime.keras.reached import reached
from launch_runtime.keras.reader import Place, Reader

# Each begins with a literal or a word, so that the search is quick; _first() looks at the line.
# `tf.keras` alone, as in `keras = tf.keras`, is a use where it is assigned: prose names it too.
_KERAS = re.compile(
    rb"\b(?:from|import)[ \t][\w., \t]*?\bkeras\b"
    rb"|\b(?:tf|tensorflow)(?:\.compat\.v[12])?\.keras\.\w"
    rb"|=[ \t]*((?:tf|tensorflow)(?:\.compat\.v[12])?\.keras)\b"
)
_HOROVOD = re.compile(rb"horovod\b")
_WRAPPER = re.compile(
    rb"\b(Distributed(?:Optimizer|GradientTape)|BroadcastGlobalVariablesCallback"
    rb"|MetricAverageCallback|LearningRate(?:Warmup|Schedule)Callback)\s*\("
)


class Use(NamedTuple):
    """What the files that a script reaches use; None for what none of them does.

    Attributes:
        keras: The first line that names Keras, as ``keras``, ``tf.keras`` or Horovod's.
        horovod: The first line that names Horovod.
        wrapper: The first call of a wrapper or callback that Horovod has for Keras.
        new: The first use of what only Keras 3 has.
        legacy: The first line that sets TF_USE_LEGACY_KERAS; ``what`` is ``0`` or ``1``.
    """

    keras: Place | None = None
    horovod: Place | None = None
    wrapper: Place | None = None
    new: Place | None = None
    legacy: Place | None = None


def scan(folder: str, script: str) -> Use:
    """Reads the files of the tree ``folder`` that ``script``, relative to it, reaches."""
    script = script.replace(os.sep, "/")
    found: dict[str, Place | None] = dict.fromkeys(Use._fields)
    for path, text in reached(folder, script):
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        for key, pattern in (("keras", _KERAS), ("horovod", _HOROVOD), ("wrapper", _WRAPPER)):
            match = None if found[key] else _first(pattern, text)
            if match:
                line = text.count(b"\n", 0, match.end()) + 1
                found[key] = Place(name, line, match.group(match.lastindex or 0).decode().strip())
        if found["new"] is None and may_be_new(text):
            reader = Reader(name, folder)
            reader.read(text)
            found["new"] = reader.new
            found["legacy"] = found["legacy"] or reader.legacy
    return Use(**found)


def _first(pattern: re.Pattern[bytes], text: bytes) -> re.Match[bytes] | None:
    """The first match that stands in no comment."""
    for match in pattern.finditer(text):
        if b"#" not in text[text.rfind(b"\n", 0, match.start()) + 1 : match.start()]:
            return match
    return None

"""TensorFlow's start-up lines, which every rank prints and nobody can act on.

They are kept out of the terminal and out of a failure's last lines; the log files have them, and
``launch logs --raw`` shows them. Which lines these are is data: tensorflow_noise.json, each with
its source. A line that is not known to its last character is shown.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).with_name("tensorflow_noise.json")
# How a line of noise may begin, so that the others cost next to nothing.
_FIRST = frozenset("0123456789IWETY")
_MAY_BE = re.compile(r"\d{4}-\d\d-\d\d |[IWE]\d{4} |To enable |Your kernel may |WARNING: All log ")


def is_noise(text: str, without_gpus: bool = False) -> bool:
    """Whether the whole line is one that TensorFlow prints at every start.

    Args:
        text: The line without its tag, as it was printed.
        without_gpus: The job's ranks have no GPU, so that a missing one is no news.

    Example:
        >>> is_noise("W0000 00:00:1.5  7 a.cc:177] my own warning")
        False
    """
    if text[:1] not in _FIRST or not _MAY_BE.match(text):
        return False
    return _patterns(without_gpus).fullmatch(text.rstrip()) is not None


@lru_cache(maxsize=2)
def _patterns(without_gpus: bool) -> re.Pattern[str]:
    known = json.loads(_FILE.read_text(encoding="utf-8"))
    headers = "|".join(known["headers"][name] for name in ("tensorflow", "abseil"))
    found = []
    for item in known["noise"]:
        if item.get("unless") == "gpus" and not without_gpus:
            continue
        if item.get("bare"):
            found.append(item["message"])
        else:
            files = "|".join(map(re.escape, item["files"]))
            place = rf"(?:[\w.-]+/)*(?:{files}):\d+\] "
            found.append(rf"(?:{headers}){place}(?:{item['message']})")
    return re.compile("|".join(f"(?:{pattern})" for pattern in found))

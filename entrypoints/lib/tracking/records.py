"""What is sent of a run, as records that a file of JSON lines can hold as well.

Every record says ``what`` it is and when it was made (``at``, milliseconds since 1970):

    begin     key, parameters, tags, name      the run; ``key`` is the same after a restart
    metrics   steps, values                    after so many steps of the whole training
    tags      tags
    file      path
    end       status
"""

from __future__ import annotations

import json
import math
import time
from typing import Any, Dict, Mapping

BEGIN, METRICS, TAGS, FILE, END = "begin", "metrics", "tags", "file", "end"
_FIELDS: Mapping[str, Mapping[str, type]] = {
    BEGIN: {"key": str, "parameters": dict, "tags": dict, "name": str},
    METRICS: {"steps": int, "values": dict},
    TAGS: {"tags": dict},
    FILE: {"path": str},
    END: {"status": str},
}

Record = Dict[str, Any]


def record(what: str, **fields: Any) -> Record:
    """One record, made now."""
    return {"what": what, "at": int(time.time() * 1000), **fields}


def as_text(values: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as texts: what is None is left out, several values stand with commas."""
    return {name: _text(value) for name, value in values.items() if value is not None}


def as_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The values that are numbers; None and what is infinite or no number are left out."""
    numbers = {name: float(value) for name, value in values.items() if value is not None}
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def is_whole(one: Mapping[str, Any]) -> bool:
    """Whether a record of a file has what one of its kind needs."""
    fields = _FIELDS.get(one["what"])
    return fields is not None and all(
        isinstance(one.get(name), kind) for name, kind in {"at": int, **fields}.items()
    )


def to_line(one: Mapping[str, Any]) -> str:
    """``one`` as a line of JSON, with its end."""
    return json.dumps(one, sort_keys=True, allow_nan=False) + "\n"


def from_line(line: str) -> Record:
    """The other way round.

    Raises:
        ValueError: It is no record.
    """
    found = json.loads(line)
    if not isinstance(found, dict) or not isinstance(found.get("what"), str):
        raise ValueError("no record of a run")
    return found


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)

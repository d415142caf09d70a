"""Where Vertex AI is. The table is locations.json; `python -m infra.refresh.vertex_locations` makes
it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from launchers.core.model.problems import did_you_mean

_FILE = Path(__file__).with_name("locations.json")


@lru_cache(maxsize=1)
def load() -> tuple[str, ...]:
    """Every location by its name, ``us-central1``."""
    return tuple(json.loads(_FILE.read_bytes())["locations"])


def suggestion(name: str) -> str:
    """``did you mean us-central1?`` for a name that the table lacks, or nothing."""
    return did_you_mean(name, load())

"""What can bring no Horovod by itself: packages and programs, from without_horovod.json."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any


def packages_without_horovod() -> frozenset[str]:
    """Names of top-level modules, those of the standard library among them."""
    groups = [*_table()["read"].values(), *_table()["known"].values()]
    return frozenset(name for group in groups for name in group) | sys.stdlib_module_names


def programs_without_horovod() -> frozenset[str]:
    """Names of programs that run no code of the user's."""
    return frozenset(_table()["programs"])


@lru_cache(maxsize=1)
def _table() -> Any:
    return json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

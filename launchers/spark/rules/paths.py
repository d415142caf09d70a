"""Which paths spark-submit reads as they are. Pure."""

from __future__ import annotations

import re

from launchers.core.model.problems import Problem
from launchers.spark.catalogue import RULES

# In a list of files that ends at commas, each of which is a URI.
_NOT_IN_A_URI = re.compile(r"[\s,#%?\\\"<>^`{|}]")


def problems_in_place(where: str, place: str) -> list[Problem]:
    """A path that spark-submit would take for another one, or for several.

    Args:
        where: The flag that says it, or its place in a document.
    """
    found = _NOT_IN_A_URI.search(place)
    return [RULES["spark-path"].at(where, f"{place} has {found[0]!r}")] if found else []

"""Shows which rules of a gitleaks.toml have no counterpart in our table of credentials' shapes.

    python -m infra.refresh.credential_shapes PATH/gitleaks.toml [--all]

For each rule it makes texts that the rule's expression matches, and searches them as source is
searched. A rule is known by its shape where every one of them is found whatever it is called; by
its name where a name beside the value is needed; in part where some are found; else it is missing.
It writes nothing: a new row of shapes.json wants the issuer's own page. Exit code 1 where any is
missing or found in part.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli

from infra.refresh.regex_samples import samples
from launchers.core.credentials.search import scan_text
from launchers.core.credentials.shapes import matches

VERDICTS = ("missing", "in part", "cannot be read", "a path", "by name", "by shape")


def verdicts(rules: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The rule's id -> one of :data:`VERDICTS`.

    Args:
        rules: The ``rules`` of a gitleaks.toml.
    """
    return {rule["id"]: _verdict(rule.get("regex", "")) for rule in rules}


def _verdict(pattern: str) -> str:
    if not pattern:
        return "a path"  # it looks at names of files alone
    try:
        made = list(samples(pattern))
    except (ValueError, re.error):
        return "cannot be read"
    shapes = sum(any(True for _ in matches(text)) for text in made)
    named = sum(bool(scan_text(text, "configuration")) for text in made)
    if not made:
        return "cannot be read"
    if shapes == len(made):
        return "by shape"
    if max(shapes, named) == len(made):
        return "by name"
    return "in part" if shapes or named else "missing"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the rules that we lack, and how many there are of each verdict."""
    parser = argparse.ArgumentParser(prog="python -m infra.refresh.credential_shapes")
    parser.add_argument("rules", type=Path, help="a gitleaks.toml")
    parser.add_argument("--all", action="store_true", help="also what we find")
    options = parser.parse_args(arguments)
    found = verdicts(tomli.loads(options.rules.read_text("utf-8"))["rules"])
    for verdict in VERDICTS:
        ids = [rule for rule, told in found.items() if told == verdict]
        if ids:
            print(f"{verdict}: {len(ids)} of {len(found)}")
        if options.all or verdict in VERDICTS[:3]:
            print("".join(f"  {rule}\n" for rule in ids), end="")
    return 1 if {"missing", "in part"} & set(found.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())

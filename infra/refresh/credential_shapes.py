"""Shows which rules of a gitleaks.toml have no counterpart in our table of credentials' shapes.

    python -m infra.refresh.credential_shapes PATH/gitleaks.toml [--all]

For each rule it makes texts that the rule's expression matches, and searches them as source is
searched. A rule is known by its shape where every one of them is found whatever it is called; by
its name where a name beside the value is needed; in part where some are found. Many rules know a
service by a word anywhere before a value; such a rule is known with a name where its value is found
under that word with "token" behind it, as variables are called. Else it is missing, or left out
where credential_shapes.json says why: texts that no issuer gives out, what is public, any word.
It writes nothing: a new row of shapes.json wants the issuer's own page. Exit code 1 where any is
missing or found in part.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli

from infra.refresh.regex_samples import python_pattern, samples
from launchers.core.credentials.matching import matches
from launchers.core.credentials.search import scan_text

LEFT: Mapping[str, str] = json.loads(
    Path(__file__).with_name("credential_shapes.json").read_text("utf-8")
)["left"]
VERDICTS = (
    "missing",
    "in part",
    "cannot be read",
    "left out",
    "a path",
    "with a name",
    "by name",
    "by shape",
)


def verdicts(rules: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The rule's id -> one of :data:`VERDICTS`.

    Args:
        rules: The ``rules`` of a gitleaks.toml.
    """
    found = {rule["id"]: _verdict(rule) for rule in rules}
    lacking = {rule for rule, told in found.items() if told in ("missing", "in part")}
    return found | dict.fromkeys(lacking & set(LEFT), "left out")


def _verdict(rule: Mapping[str, Any]) -> str:
    pattern, keywords = rule.get("regex", ""), rule.get("keywords", ())
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
    group = rule.get("secretGroup", 0)
    if keywords and all(_found_as_token(pattern, group, keywords[0], text) for text in made):
        return "with a name"
    return "in part" if shapes or named else "missing"


def _found_as_token(pattern: str, group: int, keyword: str, text: str) -> bool:
    """Whether the value that the rule takes from ``text`` is found as KEYWORD_token."""
    found = re.search(python_pattern(pattern), text + '"')
    taken = found.groups()[max(group - 1, 0) :] if found else ()
    value = next(filter(None, taken), "")
    return bool(value and scan_text(f'{keyword}_token = "{value}"\n'))


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
        if options.all or verdict in VERDICTS[:4]:
            why = (f": {LEFT[rule]}" if verdict == "left out" else "" for rule in ids)
            print("".join(f"  {rule}{text}\n" for rule, text in zip(ids, why, strict=True)), end="")
    return 1 if {"missing", "in part"} & set(found.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())

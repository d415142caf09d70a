"""Makes the corpus's cases after the tests of gitleaks and detect-secrets: `peers.json`.

    python -m infra.refresh.credential_cases GITLEAKS DETECT_SECRETS PYTHON

The first two are clones of their repositories; PYTHON has detect-secrets, pytest, responses and
pyahocorasick; `go` is on the PATH. A case is taken over as what it looks like: every letter and
digit of its credential that may be another one becomes a class of characters, of which the corpus
draws anew. So no value of theirs stands here, and none with a credential's shape.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import re
import string
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli

from infra.refresh.detect_secrets_cases import detect_secrets_cases
from infra.refresh.files import CLONE
from infra.refresh.gitleaks_cases import gitleaks_cases
from infra.refresh.regex_samples import python_pattern
from tests.benchmarks.credential_corpus.texts import made

_TABLE = CLONE / "tests" / "benchmarks" / "credential_corpus" / "peers.json"
_WEB_TOKEN = re.compile(r"(eyJ[\w-]+)\.(ey[\w-]+)\.([\w-]*)")
_CLASSES = ("0-9", "0-9a-f", "0-9A-F", "a-z", "A-Z", "0-9a-z", "0-9A-Z", "a-zA-Z", "0-9a-zA-Z")
_EVERY_OTHER = {"jwt-base64": 4}  # 296 cases of a double loop: one of each four
_KINDS = "[0-9]+|[a-z]+|[A-Z]+"
_LETTERS = frozenset(string.ascii_letters + string.digits)
_REGISTRY = "registry.npmjs" + ".org"
_LONGEST = 3000  # characters; a larger case says nothing more


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the table."""
    parser = argparse.ArgumentParser(prog="python -m infra.refresh.credential_cases")
    for name in ("gitleaks", "detect_secrets", "python"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args(arguments)
    rules = {
        rule["id"]: rule
        for rule in tomli.loads((options.gitleaks / "config/gitleaks.toml").read_text())["rules"]
    }
    groups = {
        "gitleaks": _of_gitleaks(gitleaks_cases(options.gitleaks), rules),
        "detect-secrets": [
            _row(case, _template(case["text"], case["found"], set(case["free"])))
            for case in detect_secrets_cases(options.detect_secrets, options.python)
            if len(case["text"]) <= _LONGEST
        ],
    }
    table = {
        "what": "Cases that the peers' own tests must find, with every value drawn anew.",
        "source": {name: _commit(clone) for name, clone in _clones(options).items()},
        "groups": groups,
    }
    _TABLE.write_text(_laid_out(table), "utf-8")
    return 0


def _laid_out(table: dict[str, Any]) -> str:
    """JSON with a line for each case."""
    groups = ",\n".join(
        f"  {json.dumps(name)}: [\n"
        + ",\n".join("   " + json.dumps(row, ensure_ascii=False) for row in rows)
        + "\n  ]"
        for name, rows in table["groups"].items()
    )
    head = "".join(f" {json.dumps(key)}: {json.dumps(table[key])},\n" for key in ("what", "source"))
    return f'{{\n{head} "groups": {{\n{groups}\n }}\n}}\n'


def _clones(options: argparse.Namespace) -> dict[str, Path]:
    return {"gitleaks": options.gitleaks, "detect-secrets": options.detect_secrets}


def _commit(clone: Path) -> str:
    told = subprocess.run(
        ["git", "-C", clone, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    return f"{told.stdout.strip()}: tests, under the licence that NOTICE names"


def _of_gitleaks(cases: list[dict[str, Any]], rules: dict[str, Any]) -> list[dict[str, str]]:
    rows, counts = [], dict.fromkeys(rules, 0)
    for case in cases:
        rule = rules.get(case["source"])
        if not rule or not rule.get("regex") or len(case["text"]) > _LONGEST:
            continue
        counts[rule["id"]] += 1
        if counts[rule["id"]] % _EVERY_OTHER.get(rule["id"], 1):
            continue
        text = _of_rule(case["text"], rule)
        if _still_found(text, rule):
            rows.append(_row(case, text))
    return rows


def _still_found(template: str, rule: dict[str, Any]) -> bool:
    """Whether the rule's expression matches what the corpus will draw, whatever that is."""
    expression = re.compile(python_pattern(rule["regex"]))
    return all(expression.search(made(template, random.Random(seed))) for seed in range(5))


def _row(case: dict[str, Any], text: str) -> dict[str, str]:
    # A host says nothing of the credential: an example's stands in its place.
    text = text.replace(_REGISTRY, "npm.example.com")
    return {"source": case["source"], "file": case["file"], "text": text}


def _of_rule(text: str, rule: dict[str, Any]) -> str:
    if "«" in text:
        return text
    if rule["id"] == "jwt-base64":
        header = _decoded(_decoded(text).partition(".")[0])
        return f"«jwt64 {header[:60]}»"
    expression = re.compile(python_pattern(rule["regex"]))
    found = expression.search(text)
    if not found:
        return _template(text, [text], set(range(len(text))))
    secret = max((one for one in found.groups() if one), key=len, default=found.group())
    at = text.find(secret)
    places = range(at, at + len(secret))
    free = {place for place in places if expression.search(changed(text, place))}
    template = _template(text, [secret], free)
    return template if _still_found(template, rule) else _template(text, [secret], free, _KINDS)


def _template(
    text: str, secrets: Sequence[str], free: set[int], runs: str = r"[0-9a-zA-Z]+"
) -> str:
    """``text`` with a pattern for what is drawn: of ``secrets``, what stands at ``free`` places.

    Args:
        runs: What may be drawn as one.
    """
    whole = _WEB_TOKEN.search(text)
    if whole and _algorithm(whole[1]):
        token = f"«jwt {_algorithm(whole[1])} {len(whole[3])}»"
        rest = text[whole.end() :]
        return text[: whole.start()] + token + _template(rest, [], set())
    taken: set[int] = set()
    for secret in filter(None, secrets):
        at = text.find(secret)
        taken |= {n for n in range(at, at + len(secret)) if at >= 0 and text[n] in _LETTERS}
    done, place = "", 0
    while place < len(text):
        end = place
        while end in taken & free:
            end += 1
        pieces = re.findall(runs, text[place:end])
        done += "".join(map(_drawn, pieces)) if end > place else text[place]
        place = max(end, place + 1)
    return done


def _algorithm(header: str) -> str:
    try:
        told = json.loads(_decoded(header))
    except ValueError:
        return ""
    return str(told.get("alg", "")) if isinstance(told, dict) else ""


def _decoded(text: str) -> str:
    """``text`` out of base64 of any kind; raises ValueError where it is none."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_").decode()


def changed(text: str, place: int) -> str:
    """``text`` with another sign of the same class at ``place``."""
    letter = text[place]
    others = "37" if letter.isdigit() else "bd" if letter.lower() in "abcdef" else "kq"
    other = others.replace(letter.lower(), "")[0]
    return text[:place] + (other.upper() if letter.isupper() else other) + text[place + 1 :]


def _drawn(run: str) -> str:
    """The pattern of the smallest class that holds ``run``."""
    for letters in _CLASSES:
        if re.fullmatch(f"[{letters}]+", run):
            return f"«[{letters}]{{{len(run)}}}»"
    raise ValueError(run)


if __name__ == "__main__":
    raise SystemExit(main())

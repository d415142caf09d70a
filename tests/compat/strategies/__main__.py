"""`make compat-strategies`: good scripts of every strategy must pass, bad ones be refused.

python -m tests.compat.strategies [NAME ...] [--python STACK=PYTHON ...] [--docs] [--record FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from tests.compat.strategies import environments, table
from tests.compat.strategies.cases import Case, Catalogue, load
from tests.compat.strategies.runs import Found, run


def main() -> int:
    """Print the table; 0 when every script that ran ended as it must."""
    asked = _arguments()
    catalogue = load()
    pythons = dict(pair.split("=", 1) for pair in asked.python)
    found: dict[Case, Found | str] = {}
    for case in catalogue.cases:
        if not asked.names or any(part in f"={case.name}=" for part in asked.names):
            found[case] = _one(case, catalogue, pythons, asked)
    text = table.text(found, _versions(found, pythons, catalogue), catalogue.not_run)
    print(text)
    if asked.docs:
        table.write(text)
    wrong = [c.name for c, one in found.items() if isinstance(one, Found) and one.state != c.expect]
    for name in wrong:
        print(f"not as expected: {name}", file=sys.stderr)
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.compat.strategies")
    parser.add_argument("names", nargs="*", help="only scripts with one of these in =NAME=")
    parser.add_argument(
        "--python", action="append", default=[], help="STACK=PYTHON: this one for that stack"
    )
    parser.add_argument("--docs", action="store_true", help="write the table into the docs' page")
    parser.add_argument("--logs", type=Path, help="keep what each job printed in this folder")
    parser.add_argument(
        "--record", type=Path, help="keep what came of each in this file; what it has is not rerun"
    )
    return parser.parse_args()


def _python(stack: str, catalogue: Catalogue, pythons: dict[str, str]) -> str:
    if stack not in pythons:
        pythons[stack] = environments.python_of(stack, catalogue.stacks[stack])
    return pythons[stack]


def _one(
    case: Case, catalogue: Catalogue, pythons: dict[str, str], asked: argparse.Namespace
) -> Found | str:
    kept = json.loads(asked.record.read_text()) if asked.record and asked.record.exists() else {}
    if case.name in kept:
        return Found(**kept[case.name])
    python = _python(case.stack, catalogue, pythons)
    lacking = environments.missing(case, python)
    if lacking:
        return f"{', '.join(lacking)} could not be installed"
    found = run(case, python)
    mark = "" if found.state == case.expect else f"  (expected {case.expect})"
    print(
        f"{case.name}: {found.state}{mark}, {found.seconds:.0f} s: {found.words[:300]}",
        file=sys.stderr,
        flush=True,
    )
    if asked.logs:
        asked.logs.mkdir(parents=True, exist_ok=True)
        (asked.logs / f"{case.name}.log").write_text(f"{found.state}: {found.words}\n{found.log}")
    if asked.record:
        kept[case.name] = {**dataclasses.asdict(found), "log": ""}
        asked.record.write_text(json.dumps(kept, indent=1))
    return found


def _versions(
    found: dict[Case, Found | str], pythons: dict[str, str], catalogue: Catalogue
) -> list[str]:
    said = []
    for stack in dict.fromkeys(case.stack for case in found):
        python = _python(stack, catalogue, pythons)
        needed = dict.fromkeys(name for c in found if c.stack == stack for name in c.needs)
        names = (*environments.SHOWN[stack.partition("-")[0]], *needed)
        there = environments.versions(python, names)
        said += [f"{name} {version}" for name, version in there.items()]
    return list(dict.fromkeys(said))


if __name__ == "__main__":
    sys.exit(main())

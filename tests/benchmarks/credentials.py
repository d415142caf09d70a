"""The search for credentials beside detect-secrets and gitleaks' rules, which GITLEAKS_TOML names.

Positives are made at run time: a value of each prefix of our table under a neutral name, and what
each of gitleaks' rules matches. So each set favours its own side; read both. Innocents are the
Python files of the installed packages: what is said of them is an alarm, mostly a false one;
BENCHMARK_FILES is how many. The emulation has no entropy bounds and allow lists: it alarms more.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from infra.refresh.regex_samples import python_pattern, samples
from launchers.core.credentials.search import scan_text
from launchers.core.credentials.shapes import SHAPES
from tests.benchmarks.measure import peer, print_table

_INNOCENTS = int(os.environ.get("BENCHMARK_FILES", "2000"))  # files
_LARGEST = 1 << 20  # bytes
# Prints the files in which something is found, and the CPU seconds, imports left out.
_DETECT = """
import sys, time
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings
names = sys.stdin.read().split("\\n")
with default_settings():
    start, found = time.process_time(), SecretsCollection()
    for name in names:
        found.scan_file(name)
    print(time.process_time() - start)
    print("\\n".join(found.files))
"""
Search = Callable[[list[Path]], tuple[set[str], float]]


def run(runs: int) -> None:
    """Prints found, alarms and speed of each; one run, since the counts do not change."""
    del runs
    rules = _rules()
    searchers: dict[str, Search] = {"launch": _ours, "detect-secrets": _detect_secrets}
    if rules:
        searchers["gitleaks' rules, emulated by Python's re"] = lambda files: _gitleaks(
            files, rules
        )
    else:
        print("gitleaks' rules: left out, since GITLEAKS_TOML names no gitleaks.toml")
    with tempfile.TemporaryDirectory() as folder:
        table = _planted(Path(folder) / "ours", {s.kind: s.pattern for s in SHAPES})
        theirs = _planted(Path(folder) / "theirs", {name: rule[0] for name, rule in rules.items()})
        innocents = _innocents()
        size = sum(file.stat().st_size for file in innocents) / 1e6
        rows = []
        for name, search in searchers.items():
            ours, others = len(search(table)[0]), len(search(theirs)[0]) if theirs else 0
            alarms, seconds = search(innocents)
            rows.append(
                [name, str(ours), str(others), str(len(alarms)), f"{size / max(seconds, 1e-9):.1f}"]
            )
    columns = [
        "",
        f"found of our {len(table)}",
        f"found of gitleaks' {len(theirs)}",
        f"alarms in {len(innocents)} files of packages",
        "MB per CPU s",
    ]
    print_table("Credentials", columns, rows)


def _rules() -> dict[str, tuple[str, list[str]]]:
    """Expression and keywords of each: a rule is tried where one of its keywords stands."""
    file = os.environ.get("GITLEAKS_TOML")
    if not file:
        return {}
    import tomli

    rules = tomli.loads(Path(file).read_text("utf-8"))["rules"]
    return {
        rule["id"]: (rule["regex"], rule.get("keywords", [])) for rule in rules if rule.get("regex")
    }


def _planted(folder: Path, patterns: Mapping[str, str]) -> list[Path]:
    """A file for each pattern that a text can be made of."""
    folder.mkdir()
    files = []
    for number, pattern in enumerate(patterns.values()):
        try:
            made = list(samples(pattern, seeds=3))
        except (ValueError, re.error):
            continue
        if made:
            value = made[-1].replace("\n", " ")
            files.append(folder / f"f{number}.py")
            files[-1].write_text(f'import os\n\nvalue = "{value}"\n')
    return files


def _innocents() -> list[Path]:
    found = sorted(Path(sysconfig.get_path("purelib")).rglob("*.py"))
    step = max(1, len(found) // _INNOCENTS)
    return [file for file in found[::step] if file.stat().st_size <= _LARGEST]


def _ours(files: list[Path]) -> tuple[set[str], float]:
    start = time.process_time()
    found = {str(file) for file in files if scan_text(file.read_text("utf-8", "replace"))}
    return found, time.process_time() - start


def _gitleaks(
    files: list[Path], rules: Mapping[str, tuple[str, list[str]]]
) -> tuple[set[str], float]:
    compiled = []
    for pattern, keywords in rules.values():
        try:
            compiled.append((re.compile(python_pattern(pattern)), keywords))
        except (ValueError, re.error):
            continue
    start = time.process_time()
    found = {
        str(file)
        for file in files
        for text in [file.read_text("utf-8", "replace")]
        for folded in [text.lower()]
        if any(
            rule.search(text)
            for rule, keywords in compiled
            if not keywords or any(word in folded for word in keywords)
        )
    }
    return found, time.process_time() - start


def _detect_secrets(files: list[Path]) -> tuple[set[str], float]:
    python = peer("detect-secrets", "detect-secrets==1.5.0")
    done = subprocess.run(
        [python, "-c", _DETECT],
        input="\n".join(map(str, files)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"detect-secrets: {done.stderr[-500:]}")
    seconds, *names = done.stdout.splitlines()
    return {name for name in names if name}, float(seconds)

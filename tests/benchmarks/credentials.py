"""The search for credentials beside detect-secrets and gitleaks' rules, which GITLEAKS_TOML names.

Over the corpus of `credential_corpus`: cases of both peers' own tests, a value of each shape under
a neutral name, files as people have them, and lines in which no credential stands. Each set of
cases favours its own side: read all. More innocents are the Python files of the installed packages:
what is said of them is an alarm, mostly a false one; BENCHMARK_FILES is how many.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from launchers.core.source.credential_files import places_in
from tests.benchmarks.credential_corpus.texts import cases
from tests.benchmarks.gitleaks import Gitleaks
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
    searchers: dict[str, Search] = {"launch": _ours, "detect-secrets": _detect_secrets}
    rules = os.environ.get("GITLEAKS_TOML")
    if rules:
        searchers["gitleaks' rules, by Python's re"] = lambda files: _gitleaks(files, Path(rules))
    else:
        print("gitleaks' rules: left out, since GITLEAKS_TOML names no gitleaks.toml")
    with tempfile.TemporaryDirectory() as folder:
        groups = _planted(Path(folder))
        groups["packages"] = _packages()
        size = sum(file.stat().st_size for file in groups["packages"]) / 1e6
        rows = []
        for name, search in searchers.items():
            found, seconds = {}, 0.0
            for group, files in groups.items():
                told, seconds = search(files)
                found[group] = len(told)
            speed = f"{size / max(seconds, 1e-9):.1f}"
            rows.append([name, *(str(found[group]) for group in groups), speed])
    titles = {
        "innocents": "alarms in {} innocent lines",
        "packages": "alarms in {} files of packages",
    }
    columns = [
        titles.get(group, f"found of {{}} {group}").format(len(files))
        for group, files in groups.items()
    ]
    print_table("Credentials", ["", *columns, "MB per CPU s"], rows)


def _planted(folder: Path) -> dict[str, list[Path]]:
    """A file for each case of the corpus, by group."""
    groups: dict[str, list[Path]] = {}
    for number, case in enumerate(cases()):
        file = folder / str(number) / case.name
        file.parent.mkdir()
        file.write_text(case.text, "utf-8")
        groups.setdefault(case.group, []).append(file)
    return groups


def _packages() -> list[Path]:
    found = sorted(Path(sysconfig.get_path("purelib")).rglob("*.py"))
    step = max(1, len(found) // _INNOCENTS)
    return [file for file in found[::step] if file.stat().st_size <= _LARGEST]


def _ours(files: list[Path]) -> tuple[set[str], float]:
    start = time.process_time()
    found = {str(file) for file in files if places_in(file.name, file.read_bytes())}
    return found, time.process_time() - start


def _gitleaks(files: list[Path], rules: Path) -> tuple[set[str], float]:
    searcher = Gitleaks(rules)
    start = time.process_time()
    found = {str(file) for file in files if searcher.finds(file.read_text("utf-8", "replace"))}
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

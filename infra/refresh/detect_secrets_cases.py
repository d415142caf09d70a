"""The lines in which detect-secrets finds something in the tests of its own plugins."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

# A plugin of pytest, run by the Python that has detect-secrets.
_RECORDER = """
import importlib, inspect, json, os, pkgutil
import pytest
import detect_secrets.core.scan as scan
import detect_secrets.plugins as plugins
from detect_secrets.plugins.base import BasePlugin

def changed(text, place):  # as infra.refresh.credential_cases
    letter = text[place]
    others = "37" if letter.isdigit() else "bd" if letter.lower() in "abcdef" else "kq"
    other = others.replace(letter.lower(), "")[0]
    return text[:place] + (other.upper() if letter.isupper() else other) + text[place + 1 :]

told, state = open(os.environ["TOLD"], "w"), {"depth": 0, "test": ""}

def tell(file, text, found, again=None):
    values, free = [one.secret_value for one in found], []
    for value in filter(None, values):
        at = text.find(value)
        for place in range(at, at + len(value)) if at >= 0 and len(text) < 3000 else ():
            if text[place].isalnum() and (again is None or again(changed(text, place))):
                free.append(place)
    told.write(json.dumps([state["test"], file, text, values, free]) + "\\n")

def recorded(function):
    def call(self, *arguments, **named):
        state["depth"] += 1
        try:
            found = function(self, *arguments, **named)
        finally:
            state["depth"] -= 1
        if not state["depth"]:
            given = inspect.signature(function).bind(self, *arguments, **named).arguments
            found = list(found)
            name = "line" if "line" in given else "string"
            def again(text):
                state["depth"] += 1
                try:
                    return list(function(**{**given, name: text}))
                except Exception:
                    return []
                finally:
                    state["depth"] -= 1
            tell(given.get("filename", ""), given.get(name, ""), found, again)
        return found
    return call

def scanned(line):
    state["depth"] += 1
    try:
        found = list(original(line))
    finally:
        state["depth"] -= 1
    tell("", line, found)
    return found

def below(kind):
    for one in kind.__subclasses__():
        yield one
        yield from below(one)

for module in pkgutil.iter_modules(plugins.__path__):
    importlib.import_module("detect_secrets.plugins." + module.name)
for kind in {BasePlugin, *below(BasePlugin)}:
    if "analyze_line" in vars(kind):
        kind.analyze_line = recorded(vars(kind)["analyze_line"])
original, scan.scan_line = scan.scan_line, scanned

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    state["test"] = item.nodeid.partition("::")[0].rpartition("/")[2]
"""
_OPTIONS = ("-q", "-p", "recorder", "-p", "no:cacheprovider")
_NO_CREDENTIALS = ("ip_public_test.py",)  # addresses


def detect_secrets_cases(clone: Path, python: Path) -> list[dict[str, Any]]:
    """Test, file, text, found values and the places that may change of each; no text twice.

    Args:
        clone: The repository.
        python: A Python with detect-secrets, pytest, responses and pyahocorasick.
    """
    with tempfile.TemporaryDirectory() as name:
        told = Path(name) / "told"
        (Path(name) / "recorder.py").write_text(_RECORDER)
        subprocess.run(
            [str(python), "-m", "pytest", *_OPTIONS, "tests/plugins"],
            cwd=clone,
            env={"PYTHONPATH": f"{name}:{clone}", "TOLD": str(told), "PATH": "/usr/bin:/bin"},
            stdout=subprocess.DEVNULL,
            check=False,  # that the answers are lists now fails some
        )
        rows = [json.loads(line) for line in told.read_text("utf-8").splitlines()]
    cases, seen = [], set()
    for test, file, text, found, free in rows:
        ending = Path(file).suffix or ".txt"
        if found and test not in _NO_CREDENTIALS and (ending, text) not in seen:
            seen.add((ending, text))
            case = {"source": test, "file": f"case{ending}", "text": text}
            cases.append({**case, "found": found, "free": free})
    return cases

"""The Python of each stack: made once, kept in the user's cache folder, and what is in it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from functools import cache

from tests.benchmarks.measure import peer
from tests.compat.strategies.cases import Case, Stack

_ASK = """
import importlib.metadata, json, platform, sys
found = {"Python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
# Framework -> the packages whose versions the table always tells.
SHOWN = {"torch": ("torch",), "tensorflow": ("tensorflow", "tf-keras", "keras")}


@cache
def python_of(name: str, stack: Stack) -> str:
    """The stack's Python; the launcher's own where the stack asks for no packages.

    Blocks while pip installs, the first time: minutes, and gigabytes for torch.

    Raises:
        subprocess.CalledProcessError: pip could not install the requirements.
    """
    if not stack.requirements:
        return sys.executable
    digest = hashlib.sha256(repr(stack).encode()).hexdigest()[:8]
    python = peer(f"compat-{name}-{digest}", *stack.requirements)
    tried = python.parents[1] / "tried-afterwards"
    if stack.afterwards and not tried.exists():
        pip = [sys.executable, "-m", "pip", "-q", "--python", str(python), "install"]
        done = subprocess.run([*pip, "--no-build-isolation", *stack.afterwards], check=False)
        tried.write_text(f"{done.returncode}\n")
    return str(python)


@cache
def versions(python: str, names: tuple[str, ...]) -> dict[str, str]:
    """Package -> version of those that are installed, and Python's own."""
    done = subprocess.run([python, "-c", _ASK, *names], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def missing(case: Case, python: str) -> list[str]:
    """Packages that the case needs and ``python`` lacks."""
    there = versions(python, case.needs)
    return [name for name in case.needs if name not in there]

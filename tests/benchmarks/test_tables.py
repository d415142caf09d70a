"""Each table of `make benchmark` is found by the command, without what pytest puts on the path."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.places import ROOT

_IMPORT_ALL = """
import importlib
from tests.benchmarks import __main__ as command

modules = [*command.TABLES]
modules += [f"speed.{name}" for name in command.SPEED.values()]
modules += [f"data.{name}" for name in command.DATA.values()]
found = [importlib.import_module(f"tests.benchmarks.{name}") for name in modules]
print([one for one in found if not callable(one.run)])
"""


@pytest.mark.processes
def test_every_table_of_the_command_is_imported_by_a_plain_python() -> None:
    words = [sys.executable, "-E", "-c", _IMPORT_ALL]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr

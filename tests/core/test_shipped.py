"""The ranks' own modules, loaded from where they are shipped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launchers.core.paths import entrypoints_folder
from launchers.core.shipped import library, runtime


def test_a_module_is_the_file_that_is_shipped_and_the_same_each_time() -> None:
    judge = runtime("evidence.judge")
    shipped = entrypoints_folder() / "launch_runtime" / "evidence" / "judge.py"
    assert Path(judge.__file__).resolve() == shipped.resolve()
    assert runtime("evidence.judge") is judge
    assert runtime("evidence.finding").Finding is judge.Finding


def test_a_module_of_the_library_is_the_file_that_the_ranks_read() -> None:
    layout = library("data.layout")
    assert Path(layout.__file__).resolve() == entrypoints_folder() / "lib" / "data" / "layout.py"
    assert library("data.layout") is layout


def test_the_shared_scripts_are_not_put_on_the_path() -> None:
    program = (
        "import sys; from launchers.core.shipped import library, runtime; before = list(sys.path); "
        "runtime('keras.source'); library('data.layout'); assert sys.path == before; "
        "assert 'lib' not in sys.modules and 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

"""The loader's lines of docs/data.md, in a script of the reader's own."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lib.data import kinds

from tests.cli.command import Launch
from tests.data.made import class_folders
from tests.docs.blocks import blocks
from tests.places import ENTRYPOINTS, ROOT


def test_the_page_has_every_kind_of_data_that_the_shared_script_takes() -> None:
    page = (ROOT / "docs" / "data.md").read_text("utf-8")
    assert [kind for kind in kinds.forms() if f"`{kind}`" not in page] == []


@pytest.mark.horovod
def test_the_pages_script_reads_a_converted_place(launch: Launch) -> None:
    (block,) = [
        one for one in blocks() if one.place.startswith("data.md:") and one.language == "python"
    ]
    class_folders(launch.folder / "photos", each=8)
    assert launch("data", "parquet", "photos", "food").code == 0
    launch.write("own.py", block.text)

    done = subprocess.run(
        [sys.executable, "own.py"],
        cwd=launch.folder,
        env=launch.environment({"PYTHONPATH": str(ENTRYPOINTS)}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert [line.partition(" [")[0] for line in done.stdout.splitlines()] == ["(4, 64, 64, 3)"] * 3

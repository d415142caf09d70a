"""What tools and shells leave in a source folder stays behind, and is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from launchers.core.source.outputs import OUTPUT, REDIRECTED, redirected_files
from launchers.core.source.tree import read_tree
from tests.core.source.trees import plant


def kept(folder: Path) -> set[str]:
    return {file.path for file in read_tree(folder).files}


@pytest.mark.parametrize(
    ("tree", "left"),
    [
        ({"wandb/run-1/files/code/train.py": "x"}, {"wandb/"}),
        ({"wandb/__init__.py": "x"}, set()),
        ({"mlruns/0/meta.yaml": "x", "lightning_logs/version_0/hparams.yaml": "x"},
         {"mlruns/", "lightning_logs/"}),
        ({"logs/a.txt": "x", "logs/deep/b": "x"}, {"logs/"}),
        ({"logs/format.py": "x"}, set()),
        ({"runs/deep/part.py": "x"}, set()),
        ({"run.log": "x", "nohup.out": "x", "events.out.tfevents.1.host": "x"},
         {"run.log", "nohup.out", "events.out.tfevents.1.host"}),
        ({"data/train.log": "x"}, {"data/train.log"}),
        ({"logs": "a file", "log.txt": "x"}, set()),
        ({"jobs/a-1/definition.json": "x", "jobs/a-1/logs/job.log": "x", "jobs/a-1/code/a.py": "x"},
         {"jobs/a-1/"}),
        ({"jobs/definition.json": "x", "jobs/part.py": "x"}, set()),
    ],
)  # fmt: skip
def test_what_tools_leave_stays_behind(tmp_path: Path, tree: dict[str, str], left: set[str]):
    plant(tmp_path, {"train.py": "x", **tree})
    found = read_tree(tmp_path)
    assert {item.path: item.why for item in found.left_out} == dict.fromkeys(left, OUTPUT)
    assert all(item.notable for item in found.left_out)
    assert "train.py" in {file.path for file in found.files}


def test_a_notebooks_checkpoints_are_named(tmp_path: Path):
    plant(tmp_path, {"train.py": "x", ".ipynb_checkpoints/a-checkpoint.py": "x"})
    (left,) = read_tree(tmp_path).left_out
    assert (left.path, left.why) == (".ipynb_checkpoints/", "a notebook's checkpoints")
    assert left.notable


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("!wandb/", "wandb/run-1/a"),
        ("!wandb/run-1/a", "wandb/run-1/a"),
        ("!*.log", "train.log"),
        ("!logs/", "logs/vocabulary.txt"),
    ],
)
def test_a_line_of_launchignore_keeps_it(tmp_path: Path, line: str, path: str):
    plant(tmp_path, {"train.py": "x", path: "x", ".launchignore": line})
    assert path in kept(tmp_path)


def test_a_file_that_the_shell_redirects_to_is_left_out(tmp_path: Path):
    plant(tmp_path, {"train.py": "x", "other.txt": "x"})
    program = (
        "import sys; from pathlib import Path\n"
        "from launchers.core.source.tree import read_tree\n"
        "found = read_tree(Path(sys.argv[1]))\n"
        "print([file.path for file in found.files],"
        " [(left.path, left.why) for left in found.left_out])\n"
    )
    # As `launch ... 2> run.txt | tee out.txt` does it, all in one process group.
    words = '"$0" -c "$1" . 2> run.txt | tee out.txt'
    root = str(Path(__file__).parents[3])
    answer = subprocess.run(
        ["sh", "-c", words, sys.executable, program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    ).stdout
    left = [("out.txt", REDIRECTED), ("run.txt", REDIRECTED)]
    assert answer.strip() == f"{['other.txt', 'train.py']} {left}"


def test_a_python_file_and_what_is_open_for_reading_are_no_redirections(tmp_path: Path):
    plant(tmp_path, {"a.py": "x", "b.txt": "x", "c.txt": "x"})
    with (
        (tmp_path / "a.py").open("a"),
        (tmp_path / "b.txt").open("r"),
        (tmp_path / "c.txt").open("a") as written,
    ):
        status = os.fstat(written.fileno())
        found = redirected_files()
    assert (status.st_dev, status.st_ino) in found
    for name in ("a.py", "b.txt"):
        status = (tmp_path / name).stat()
        assert (status.st_dev, status.st_ino) not in found

"""What is piped into `launch local` reaches the only rank, or is refused: it is never lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Launch

READS = "import sys\nprint('got', sys.stdin.read().split(), flush=True)\n"
PLAIN = "print('plain', flush=True)\n"
# Above world size 1 the source must use it.
HOROVOD = "import horovod\n"
TWO = ("--instances", "2")


def run(launch: Launch, stdin: Any, *words: str) -> subprocess.CompletedProcess[str]:
    """`launch local train.py` with this standard input; it ends, or the test fails."""
    return subprocess.run(
        launch.command("local", "train.py", *words),
        cwd=launch.folder,
        env=launch.environment({}),
        stdin=stdin,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )


def piped(data: bytes) -> int:
    """The read end of a pipe with ``data`` in it, whose writer is gone."""
    read_end, write_end = os.pipe()
    os.write(write_end, data)
    os.close(write_end)
    return read_end


def test_a_pipe_and_a_file_reach_the_only_rank(launch: Launch, tmp_path: Path):
    launch.write("train.py", READS)
    read_end = piped(b"one two\n")
    done = run(launch, read_end)
    os.close(read_end)
    assert (done.returncode, "got ['one', 'two']" in done.stdout) == (0, True), done.stderr
    (tmp_path / "data").write_text("three\n")
    with (tmp_path / "data").open() as stream:
        assert "got ['three']" in run(launch, stream).stdout


def test_data_for_several_ranks_that_would_read_it_is_refused(launch: Launch, tmp_path: Path):
    launch.write("train.py", HOROVOD + READS)
    (tmp_path / "data").write_text("three\n")
    read_end = piped(b"one two\n")
    with (tmp_path / "data").open() as stream:
        for stdin in (read_end, stream):
            done = run(launch, stdin, *TWO)
            assert done.returncode == 2
            assert "standard input" in done.stderr
            assert "--data FILE" in done.stderr
    assert os.read(read_end, 100) == b"one two\n"  # nothing was taken away
    os.close(read_end)
    assert not (launch.home / "jobs").exists()


def test_no_job_is_refused_or_held_up_for_a_standard_input_that_nobody_means(
    launch: Launch, tmp_path: Path
):
    """A CI runner's pipe that nobody writes to, /dev/null, none at all, a loop over a list."""
    launch.write("train.py", PLAIN)
    silent, held_open = os.pipe()
    rest_of_a_script = piped(b"echo the next command of the CI job\n")
    (tmp_path / "list").write_text("a\nb\n")
    with (tmp_path / "list").open() as stream:
        for stdin in (silent, rest_of_a_script, stream, subprocess.DEVNULL):
            done = run(launch, stdin)
            assert (done.returncode, "plain" in done.stdout) == (0, True), done.stderr
        assert stream.read() == "a\nb\n"
    assert os.read(rest_of_a_script, 100).startswith(b"echo")
    for descriptor in (silent, held_open, rest_of_a_script):
        os.close(descriptor)
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *launch.command("local", "train.py")]
    done = subprocess.run(
        closed, cwd=launch.folder, env=launch.environment({}), capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", [PLAIN, READS], ids=["reads nothing", "reads it"])
def test_several_ranks_are_not_refused_without_data(launch: Launch, text: str):
    """They fail for want of hvd.init(), which is not what this is about: they were started."""
    launch.write("train.py", HOROVOD + text)
    silent, held_open = os.pipe()
    done = run(launch, silent, *TWO)
    os.close(silent)
    os.close(held_open)
    assert done.returncode == 1
    assert "independent copies ran" in done.stdout + done.stderr
    assert ("warning: standard input" in done.stderr) == (text == READS)

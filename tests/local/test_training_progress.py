"""`launch status` of a job on this machine: how far its training is."""

from __future__ import annotations

from pathlib import Path

from launchers.core.model.jobs import JobHandle
from launchers.core.output.training_progress.state import TrainingProgress
from launchers.local.service import LocalService
from launchers.machine.supervised import tail
from launchers.machine.supervised.service import TAIL_BYTES
from tests.cli.command import Launch

# Rank 0 prints bars as Keras does; another thread of it prints what is none.
TRAINS = """
import sys, time
print("Epoch 2/3")
sys.stdout.write("\\r 5/10 [=====>....] - ETA: 9s - loss: 0.7500" + "\\b" * 30)
sys.stdout.write("\\r10/10 [==========] - 1s 54ms/step - loss: 0.7 - val_loss: 0.8\\n")
print("Epoch 3/3", flush=True)
sys.stdout.write("\\r 5/10 [=====>....] - ETA: 5s - loss: 0.5000\\n")
print("result: test accuracy 0.9", flush=True)
"""
SILENT = "print('nothing of it')\n"


def test_the_last_progress_of_a_job_is_shown(launch: Launch):
    launch.write("train.py", TRAINS)
    assert launch("local", "train.py", "--name", "told").code == 0
    shown = launch("status", "told")
    assert shown.code == 0, shown.err
    assert "\n  epoch 3/3  step 5/10  18.5 steps/s\n  loss 0.5  validation loss 0.8\n" in shown.out
    told = launch("status", "told", "--json").json["progress"]
    assert (told["epoch"], told["epochs"], told["step"], told["steps"]) == (3, 3, 5, 10)
    assert (told["rate"], told["unit"]) == (1 / 0.054, "steps")
    assert told["left_seconds"] is None, "it has ended"


def test_a_job_that_tells_nothing_of_a_training_shows_nothing_of_it(launch: Launch):
    launch.write("train.py", SILENT)
    assert launch("local", "train.py", "--name", "silent").code == 0
    assert "progress" not in launch("status", "silent", "--json").json


def test_of_a_large_log_the_end_is_read(tmp_path: Path):
    log = tmp_path / "logs" / "job.log"
    log.parent.mkdir()
    with log.open("wb") as stream:
        stream.write(b"1000.0 [host-1/0] progress: epoch 1/9, step 1/2\n")
        stream.truncate(3 << 30)  # a hole of three gigabytes: to read it all would take seconds
        stream.seek(0, 2)
        stream.write(b"\n")
        for rank in (0, 1):
            for step in range(1000):
                text = (
                    f"{2000 + step} [host-1/{rank}] progress: epoch {5 + rank}/9, step {step}/2\n"
                )
                stream.write(text.encode())
        stream.write(b"what is no line of ours\n4000.0 [host-1/0] progress: epoch 6")
    seen = TrainingProgress()
    lines = LocalService().newest_lines(JobHandle("local", "x", {"folder": str(tmp_path)}))
    for line in lines:
        seen.see(line)
    assert len(lines) == 1000, "rank 0's whole lines"
    assert seen.progress is not None
    assert seen.progress.place == "epoch 5/9, step 999/2"
    assert seen.progress.at == 2999


def test_whole_lines_alone_are_given(tmp_path: Path):
    file = tmp_path / "log"
    assert tail.lines_of(file, 10) == []
    file.write_bytes(b"one\ntwo\nthree\nfo")
    assert tail.lines_of(file, TAIL_BYTES) == ["one", "two", "three"]
    assert tail.lines_of(file, 12) == ["two", "three"]
    assert tail.lines_of(file, 11) == ["three"]
    assert tail.lines_of(file, 1) == []

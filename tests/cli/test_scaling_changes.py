"""`launch scaling local`: what changes while a study runs, and what was there before."""

from __future__ import annotations

import json

from tests.cli.command import Launch

# The first run changes the script and the file beside it.
TRAIN = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr")
if parser.parse_args().lr == "1":
    for name in (__file__, "config.json"):
        with open(name, "a") as stream:
            stream.write("\\n")
print("progress: epoch 1/1, step 5/5, 100 images/s, loss 0.5, 10 s", flush=True)
"""
STUDY = ("scaling", "local", "train.py", "--strategy", "none", "--compare", "lr=1,2")


def test_a_script_that_changes_while_the_study_runs_ends_it(launch: Launch):
    launch.write("train.py", TRAIN)
    launch.write("config.json", "{}")
    answer = launch(*STUDY, "--repeat", "1", "--output", "out")

    assert answer.code == 2, answer.err
    assert "warning: the source: changed since the study began: config.json, train" in answer.err
    assert "stopped: 1 of 2 runs are kept in " in answer.err
    assert "Python files: changed since the study began: train.py;" in answer.err
    assert "[scaling-another]" in answer.err
    state = json.loads((launch.folder / "out" / "study.json").read_text())
    assert [run["state"] for run in state["runs"]] == ["succeeded", "waiting"]
    assert state["changed"] == ["config.json", "train.py"]


def test_files_that_no_study_wrote_are_not_overwritten(launch: Launch):
    launch.write("train.py", TRAIN)
    launch.write("mine/results.json", "mine")
    words = (*STUDY, "--output", "mine")
    answers = [launch(*words), launch(*words, "--dry-run")]

    assert [answer.code for answer in answers] == [2, 2]
    assert all("mine/results.json: a file that is already" in answer.err for answer in answers)
    assert [path.name for path in (launch.folder / "mine").iterdir()] == ["results.json"]
    assert not launch("list", "--json").json

"""`launch scaling local`: a study of real jobs, stopped, killed, continued, and refused."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers.core.records.ledger import Ledger
from tests.cli.command import Answer, Launch
from tests.places import ENTRYPOINTS
from tests.waiting import until

# It trains on nothing: each epoch's figures follow from the arguments. `--hold` waits for a file,
# `--lr bad` fails.
TRAIN = """\
import argparse, os, sys, time
parser = argparse.ArgumentParser()
for flag in ("--lr", "--seed", "--batch-size", "--hold"):
    parser.add_argument(flag, default="1")
given = parser.parse_args()
if given.lr == "bad":
    sys.exit("this rate is bad")
if given.hold != "1" and given.lr == "2":
    print("holding", flush=True)
    for _ in range(6000):
        if os.path.exists(given.hold):
            break
        time.sleep(0.01)
speed = 100 * float(given.lr)
for epoch in (1, 2):
    print(f"progress: epoch {epoch}/2, step 5/5, {speed:.0f} images/s, loss 0.5, accuracy 0.75, "
          f"validation accuracy 0.{given.seed}, {epoch * 1000 / speed} s", flush=True)
print("result: test accuracy 0.5, test loss 0.25, 2 epochs")
"""
ALONE = ("--strategy", "none")
SHARED = str(ENTRYPOINTS / "train_custom_loop.py")
STUDY = ("scaling", "local", "train.py", *ALONE, "--compare", "lr=1,2")


@pytest.fixture
def project(launch: Launch) -> Launch:
    launch.write("train.py", TRAIN)
    return launch


def state_of(launch: Launch) -> dict[str, Any]:
    (path,) = (launch.home / "studies").glob("*/study.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def jobs(launch: Launch) -> list[str]:
    return sorted(entry.name for entry in Ledger(launch.home).jobs())


def test_a_study_runs_each_value_with_each_seed_and_says_what_they_did(project: Launch):
    answer = project(*STUDY, "--repeat", "2", "--output", "out", "--json")

    assert answer.code == 0, answer.err
    one, two = answer.json["rows"]
    assert (one["variant"], two["variant"]) == ({"lr": "1"}, {"lr": "2"})
    assert one["epoch_seconds"] == {"median": 10.0, "low": 10.0, "high": 10.0, "count": 2}
    assert two["images_per_second"]["median"] == 200
    assert [run["epochs"][1]["validation_accuracy"] for run in one["runs"]] == [0.1, 0.2]
    assert {run["state"] for row in (one, two) for run in row["runs"]} == {"succeeded"}
    assert answer.json["finished"]
    assert answer.json["command"].startswith("launch scaling local train.py")
    assert set(jobs(project)) == {run["job"] for row in (one, two) for run in row["runs"]}
    out = project.folder / "out"
    assert {"results.json", "results.csv", "study.json"} <= {path.name for path in out.iterdir()}
    assert json.loads((out / "results.json").read_text()) == answer.json
    with (out / "results.csv").open() as stream:
        assert [(row["lr"], row["repeat"]) for row in csv.DictReader(stream)] == [
            *(("1", "1"), ("1", "2"), ("2", "1"), ("2", "2"))
        ]


def test_the_command_that_is_kept_has_the_scripts_words_whatever_they_are(project: Launch):
    answer = project(*STUDY, "--repeat", "1", "--json", "--", "--json")

    assert answer.code == 1, "the script has no such flag"
    assert answer.json["command"].endswith("--compare lr=1,2 --repeat 1 -- --json")


def test_the_same_line_shows_a_study_again_and_another_line_is_refused_in_its_folder(
    project: Launch,
):
    words = (*STUDY, "--repeat", "1", "--output", "out")
    first = project(*words)
    known = jobs(project)
    second = project(*words)
    other = project(*words[:-4], "--repeat", "2", "--output", "out")

    assert (first.code, second.code, other.code) == (0, 0, 2), first.err + second.err
    assert first.out == second.out
    assert "S/EPOCH" in first.out
    assert "2 of 2 runs ended before" in second.err
    assert "--repeat: 2; expected 1 [scaling-another]" in other.err
    assert jobs(project) == known


def test_a_value_that_fails_is_a_row_and_runs_again_only_when_asked_to(project: Launch):
    words = ("scaling", "local", "train.py", *ALONE, "--compare", "lr=bad,1", "--repeat", "1")
    first = project(*words)
    kept = project(*words)
    tried = project(*words, "--again")

    assert (first.code, kept.code, tried.code) == (1, 1, 1)
    assert "failed  1 x 1 lr=bad, repeat 1:" in first.err
    bad, good = (line.split() for line in first.out.splitlines()[1:3])
    assert (bad[4:6], good[4:6]) == (["lr=bad", "0/1"], ["lr=1", "1/1"])
    assert "--again runs them once more" in kept.err
    assert len(jobs(project)) == 3
    assert [run["state"] for run in state_of(project)["runs"]] == ["failed", "succeeded"]


@pytest.fixture
def held(project: Launch) -> Iterator[tuple[subprocess.Popen[str], tuple[str, ...]]]:
    """A study whose second run waits for the file `go`, and its words."""
    words = (*STUDY, "--repeat", "1", "--", "--hold", str(project.folder / "go"))
    process = project.start(*words)
    try:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("2/2"):
                break
        yield process, words
    finally:
        (project.folder / "go").touch()
        process.kill()
        process.communicate()


def goes_on(launch: Launch, words: tuple[str, ...]) -> Answer:
    (launch.folder / "go").touch()
    answer = launch(*words)
    assert answer.code == 0, answer.err
    assert "1 of 2 runs ended before: 1 run to do" in answer.err
    return answer


def holds(launch: Launch) -> Callable[[], bool]:
    """Whether the second run is where it waits."""
    return lambda: any(
        "holding" in path.read_text() for path in (launch.home / "jobs").glob("*/logs/rank-0.log")
    )


def ended(launch: Launch) -> Callable[[], bool]:
    return lambda: launch("list", "--json").out.count('"state": "running"') == 0


def test_an_interrupt_ends_the_run_under_way_and_keeps_the_others(
    project: Launch, held: tuple[subprocess.Popen[str], tuple[str, ...]]
):
    process, words = held
    until(holds(project))
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert "1 of 2 runs are kept" in err
    assert "the same command again" in err
    assert [run["state"] for run in state_of(project)["runs"]] == ["succeeded", "waiting"]
    assert ended(project)()
    goes_on(project, words)


def test_a_launcher_that_is_killed_loses_only_the_run_under_way(
    project: Launch, held: tuple[subprocess.Popen[str], tuple[str, ...]]
):
    process, words = held
    until(holds(project))
    process.kill()
    process.communicate(timeout=60)
    until(ended(project))

    found = state_of(project)
    assert found["runs"][0]["state"] == "succeeded"
    goes_on(project, words)
    assert state_of(project)["runs"][0] == found["runs"][0]


def test_a_dry_run_names_the_runs_and_leaves_nothing_behind(project: Launch):
    shown = project("scaling", "local", "train.py", "--compare", "lr=1,2", *ALONE, "--dry-run")
    as_json = project(*STUDY, "--dry-run", "--json", "--batch", "total", "--", "--batch-size=8")
    seeds = ("--seed-argument", "none", "--compare", "seed=1,2", "--dry-run", "--json")
    compared = project("scaling", "local", "train.py", *ALONE, *seeds)

    assert (shown.code, as_json.code) == (0, 0), shown.err + as_json.err
    rows = shown.out.splitlines()
    assert rows[0].split() == ["JOB", "WORLD", "SIZE", "COMPARED", "REPEAT"]
    assert len(rows) == 7
    runs = as_json.json["runs"]
    assert [run["repeat"] for run in runs] == [1, 1, 2, 2, 3, 3]
    assert runs[0]["arguments"] == ["--batch-size=8", "--lr", "1", "--seed", "1"]
    assert compared.code == 0, compared.err
    assert compared.json["runs"][0]["arguments"] == ["--seed", "1"]
    assert not list(project.home.glob("studies/*"))
    assert jobs(project) == []


def test_sizes_in_another_order_are_the_same_study(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\nhvd.init()\n")
    role = ("--role", "arn:aws:iam::111122223333:role/x", "--machine", "ml.g5.12xlarge")
    dry = ("scaling", "sagemaker", "train.py", *role, "--dry-run", "--json", "--processes")
    assert launch(*dry, "2,4").json["name"] == launch(*dry, "4,2").json["name"]


LISTS = ("--processes", "1,2")
REFUSED = {
    ("train.py",): "scaling-nothing",
    ("train.py", "--processes", "2"): "scaling-nothing",
    ("train.py", "--processes", "1,1"): "flag-value",
    ("train.py", "--processes", "0"): "flag-value",
    ("train.py", "--compare", "lr"): "flag-value",
    ("train.py", "--compare", "lr=1"): "flag-value",
    ("train.py", *LISTS, "--repeat", "101"): "flag-value",
    ("train.py", *LISTS, "--compare", "lr=" + ",".join(map(str, range(200)))): "scaling-runs",
    ("train.py", "--compare", "lr=1,2", "--compare", "lr=3,4"): "scaling-compare",
    ("train.py", "--compare", "processes=1,2"): "scaling-compare",
    ("train.py", "--compare", "strategy=horovod,nothing"): "scaling-compare",
    ("train.py", "--compare", "lr=1,2", "--", "--lr", "3"): "scaling-compare",
    ("train.py", "--compare", "seed=1,2"): "scaling-compare",
    ("train.py", "--seed-argument", "lr", "--compare", "lr=1,2"): "scaling-compare",
    ("train.py", *LISTS, "--", "--seed", "3"): "scaling-seed",
    ("train.py", *LISTS, "--checkpoint", "here"): "scaling-checkpoint",
    (SHARED, *LISTS, "--", "--checkpoint-dir", "here"): "scaling-checkpoint",
    ("train.py", "--compare", "lr=1,2", *ALONE, "--batch", "total"): "scaling-batch",
    ("train.py", *LISTS, "--repaet", "2"): "flag-unknown",
    ("train.py", *LISTS, "--epochs", "2"): "arguments-without-separator",
    ("train.py", *LISTS): "strategy-none",
    ("nothing.py", *LISTS): "script-missing",
    ("-f", "sweep.yaml", "train.py", *LISTS): "scaling-sweep",
}


@pytest.mark.parametrize(("words", "rule"), REFUSED.items(), ids=lambda value: str(value)[-60:])
def test_a_study_that_makes_no_sense_is_refused_before_anything_starts(
    project: Launch, words: tuple[str, ...], rule: str
):
    project.write("sweep.yaml", "sweep: {matrix: {args.lr: [1, 2]}}\n")
    answer = project("scaling", "local", *words)

    assert answer.code == 2, answer.err
    assert f"[{rule}]" in answer.err
    assert jobs(project) == []
    assert not list(project.home.glob("studies/*"))


def test_ranks_that_take_turns_on_a_core_are_a_warning(launch: Launch):
    launch.write("train.py", "import horovod.tensorflow as hvd\nhvd.init()\n")
    answer = launch("scaling", "local", "train.py", "--processes", "1,500", "--dry-run")

    assert answer.code == 0, answer.err
    assert "warning: --processes: 500 ranks on" in answer.err
    assert "[scaling-cores]" in answer.err


def test_all_mistakes_are_told_at_once(project: Launch):
    answer = project(
        *("scaling", "local", "train.py", "--compare", "processes=1,2", "--checkpoint", "here"),
        *("--", "--seed", "3"),
    )

    for rule in ("scaling-compare", "scaling-checkpoint", "scaling-seed"):
        assert f"[{rule}]" in answer.err


def test_a_line_that_was_meant_is_one_of_this_verb(project: Launch):
    answer = project("scaling", "local", "train.py", *LISTS, "--epochs", "2")

    assert "launch scaling local train.py --processes 1,2 -- --epochs 2" in answer.err


def test_the_command_that_names_a_links_target_is_one_of_this_verb(project: Launch):
    project.write("real/ok.py", "print()\n")
    project.write("linked/other.py", "print()\n")
    (project.folder / "linked" / "link.py").symlink_to("../real/ok.py")
    answer = project("scaling", "local", "linked/link.py", *LISTS)

    assert (answer.code, "launch scaling local real/ok.py" in answer.err) == (2, True)


def test_a_folder_that_is_a_file_is_told(project: Launch, tmp_path: Path):
    answer = project(*STUDY, "--output", "train.py")

    assert answer.code == 2
    assert "--output" in answer.err

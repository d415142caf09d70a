"""What executors answer, and whether ranks can start on them."""

from __future__ import annotations

from typing import Any

import pytest
from launch_runtime.spark.answers import Answer, judged
from launch_runtime.spark.executors import why_failed
from launch_runtime.spark.slots import Executor

from tests.entrypoints.spark.made import job

HOROVOD = {"horovod": "0.28.1", "tensorflow": "2.18.1"}


def answer(executor: str, **own: Any) -> Answer:
    given = {"python": "3.11.7", "executable": "/usr/bin/python3", "versions": HOROVOD}
    return Answer(executor, f"host-{executor}", **{"folder": "code", **given, **own})


def problem(*answers: Answer, **wanted: Any) -> str:
    return str(judged(answers, job(**wanted), []).problem)


def test_equal_executors_are_fine_and_told_in_one_line() -> None:
    found = judged([answer("0"), answer("1", python="3.11.2")], job(), [])
    assert (found.problem, found.fix, found.folder) == ("", "", "code")
    assert found.versions == {"python": "3.11.7", **HOROVOD}
    words = "2 executors on 2 hosts, each with Python 3.11.7, Horovod 0.28.1, TensorFlow 2.18.1"
    assert found.words == words


# What another executor says, the strategy, what the problem says of it
UNLIKE = [
    ({"python": "3.10.1"}, "Python is not the same: 3.11 on executor 0 on host-0, 3.10 on"),
    ({"versions": {**HOROVOD, "tensorflow": "2.15.1"}}, "2.15.1 on executor 1 on host-1"),
    ({"versions": {"horovod": "0.28.1"}}, "no TensorFlow or PyTorch on executor 1 on host-1 (Py"),
    ({"versions": {}}, "no Horovod on executor 1 on host-1 (Python /usr/bin/python3)"),
    ({"folder": ""}, "no guard.py on executor 1 on host-1; looked in here"),
    (
        {"folders": {"/data": "is not seen"}},
        "the checkpoint folder /data is not seen on executor 1 on host-1",
    ),
    (
        {"folders": {"/model": "cannot be written (Permission denied)"}},
        "the model folder /model cannot be written (Permission denied) on executor 1 on host-1",
    ),
    ({"name_trouble": "own name h has no address"}, "executor 1 on host-1: own name h has no ad"),
    ({"trouble": "the Python x cannot be started: No such file"}, "executor 1 on host-1: the Py"),
]


@pytest.mark.parametrize(("own", "expected"), UNLIKE)
def test_an_executor_that_is_not_like_the_others_is_named(own: Any, expected: str) -> None:
    folders = {"LAUNCH_CHECKPOINT_DIR": "/data", "LAUNCH_MODEL_DIR": "/model"}
    found = judged([answer("0"), answer("1", **own)], job(environment=folders), [])
    assert expected in found.problem
    assert "executor 1 on host-1" in found.problem
    assert found.fix


def test_all_that_is_wrong_is_said_at_once() -> None:
    unseen = answer("1", folders={"/data": "is not seen"})
    folder = {"LAUNCH_CHECKPOINT_DIR": "/data"}
    text = problem(answer("0", versions={}), unseen, environment=folder)
    assert "no Horovod on executor 0 on host-0" in text
    assert "is not seen on executor 1 on host-1" in text


def test_the_fix_of_a_folder_is_the_flag_that_moves_it() -> None:
    moved = {"LAUNCH_CHECKPOINT_DIR": "--checkpoint", "LAUNCH_MODEL_DIR": "--output-path"}
    for variable, flag in moved.items():
        unseen = answer("1", folders={"/data": "is not seen"})
        assert flag in judged([unseen], job(environment={variable: "/data"}), []).fix


@pytest.mark.parametrize(("strategy", "processes"), [("torch", 2), ("horovod", 1)])
def test_a_hosts_own_name_matters_to_horovods_ranks_that_meet(
    strategy: str, processes: int
) -> None:
    told = {"torch": "2.5.1", "pandas": "2.2", "pyarrow": "17", **HOROVOD}
    named = answer("0", versions=told, name_trouble="its own name has no address")
    assert problem(named, strategy=strategy, instances=1, processes=processes) == ""


def test_torch_needs_what_its_distributor_needs() -> None:
    bare = answer("0", versions={"torch": "2.5.1"})
    assert problem(bare, strategy="torch").startswith("no pandas on executor 0 on host-0")
    whole = {"torch": "2.5.1", "pandas": "2.2", "pyarrow": "17"}
    assert problem(answer("0", versions=whole), strategy="torch") == ""


def test_an_executor_that_has_not_answered_is_named() -> None:
    expected = [Executor(name, "h", 1, 0, 1) for name in ("0", "1")]
    found = judged([answer("0")], job(), expected)
    assert found.problem == "executor 1 has not answered"


def test_of_many_executors_four_are_named() -> None:
    text = problem(*(answer(str(number), versions={}) for number in range(7)))
    assert "executor 3 on host-3 and 3 more (Python" in text


def test_the_ranks_python_is_the_named_one_or_that_of_all() -> None:
    one, other = answer("0"), answer("1", executable="/app/1/environment/bin/python")
    assert judged([one], job(), []).python == "/usr/bin/python3"
    assert judged([one, other], job(), []).python == ""
    named = job(executable="./environment/bin/python")
    assert judged([one, other], named, []).python == "./environment/bin/python"


# The interfaces of executors and of the driver; the one that Horovod is told
INTERFACES = [
    (["eth0", "eth0"], "eth0", "eth0"),
    (["eth0", "ens5"], "eth0", ""),
    (["ens5", "ens5"], "eth0", ""),
    (["", ""], "", ""),
    (["eth0", ""], "eth0", ""),
]


@pytest.mark.parametrize(("theirs", "drivers", "expected"), INTERFACES)
def test_an_interface_counts_where_its_name_is_the_same_on_all_hosts(
    theirs: list[str], drivers: str, expected: str
) -> None:
    told = [answer(str(number), interface=name) for number, name in enumerate(theirs)]
    assert judged(told, job(), [], drivers).interface == expected


MISMATCH = """\
org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 \
times, most recent failure: Lost task 0.0 in stage 0.0 (TID 0) (10.0.0.7 executor 1): \
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker \
has different version (3, 10) than that in driver 3.11, PySpark cannot run with different minor \
versions."""
NO_PYTHON = """\
Lost task 0.0 in stage 0.0 (TID 0) (h executor 0): java.io.IOException: Cannot run program \
"./environment/bin/python": error=2, No such file or directory"""
OTHER = """\
Lost task 1.0 in stage 3.0 (TID 4) (h executor 0): Traceback:
  File x
RuntimeError: no room
\torg.apache.spark.SparkException: more"""
# What Spark says over many lines; the problem, a part of the fix
SAID = [
    (
        MISMATCH,
        "executor 1 on 10.0.0.7: the executors' Python 3.10 has another minor version than the",
        "--archive",
    ),
    (NO_PYTHON, "executor 0 on h: there is no Python ./environment/bin/python", "--archive"),
    (OTHER, "executor 0 on h: RuntimeError: no room", ""),
]


@pytest.mark.parametrize(("text", "expected", "fix"), SAID)
def test_what_spark_says_of_a_failed_task_becomes_one_line(
    text: str, expected: str, fix: str
) -> None:
    found, found_fix = why_failed(Exception(text))
    assert found.startswith(expected)
    assert "\n" not in found
    assert fix in found_fix

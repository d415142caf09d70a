"""How Horovod is asked to start ranks, and what comes of its own streams."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from types import ModuleType
from typing import Any

import cloudpickle
import pytest
from launch_runtime.environment import SettingError
from launch_runtime.spark import horovod_start, settings, shipped

CONF = {
    "spark.app.name": "train",
    "spark.executorEnv.LAUNCH_WORLD_SIZE": "2",
    "spark.executorEnv.LAUNCH_INSTANCES": "2",
    "spark.executorEnv.LAUNCH_PROCESSES": "1",
    "spark.executorEnv.LAUNCH_NONCE": "secret",
    "spark.executorEnv.PYTHONPATH": "mine",
    "spark.launch.start.seconds": "90",
}


@pytest.fixture
def job(tmp_path: Any) -> settings.SparkJob:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("")
    return settings.read(CONF, ["train.py", "--epochs", "3"], str(tmp_path), "stamp")


def test_horovod_is_told_all_that_it_would_else_guess(
    job: settings.SparkJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}
    horovod, spark = ModuleType("horovod"), ModuleType("horovod.spark")
    spark.run = lambda fn, **how: told.update(how, fn=fn) or ["one", "two"]  # type: ignore[attr-defined]
    horovod.spark = spark  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "horovod", horovod)
    monkeypatch.setitem(sys.modules, "horovod.spark", spark)

    payload = {"stamp": "stamp"}
    found = horovod_start.run(job, payload, "/usr/bin/python3", "eth0", print)
    assert found == ["one", "two"]
    assert (told["num_proc"], told["start_timeout"], told["use_gloo"]) == (2, 90, True)
    assert (told["executable"], told["nics"]) == ("/usr/bin/python3", {"eth0"})
    assert told["args"][1:] == ("rank_host", "run_horovod", {"stamp": "stamp"})
    assert {"LAUNCH_NONCE", "PYTHONPATH"}.isdisjoint(told["env"])
    assert told["env"]["LAUNCH_WORLD_SIZE"] == "2"
    assert None not in (told["stdout"], told["stderr"])

    horovod_start.run(job, payload, "/usr/bin/python3", "", print)
    assert told["nics"] is None


def test_what_runs_on_an_executor_needs_nothing_of_ours_to_be_read() -> None:
    program = "import cloudpickle, sys; cloudpickle.load(sys.stdin.buffer)(['/none'], 'x', 'y')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=cloudpickle.dumps(shipped.call),
        cwd=os.path.abspath(os.sep),
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stderr=subprocess.PIPE,
        check=False,
    )
    assert b"FileNotFoundError: no guard.py in ['/none'] on " in done.stderr


def test_horovods_own_lines_are_told_by_task_however_they_are_cut() -> None:
    said: list[str] = []
    remarks = horovod_start.Remarks("horovod", said.append)
    for piece in ("[1]<std", "err>:Traceback\n[0]<stdout>:", "hello\n\nplain\nrest"):
        remarks.write(piece)
    assert said == ["horovod: task 1: Traceback", "horovod: task 0: hello", "horovod: plain"]
    remarks.close()
    assert said[3:] == ["horovod: rest"]


def test_pieces_of_several_ranks_make_no_common_line() -> None:
    said: list[str] = []
    remarks = horovod_start.Remarks("horovod", said.append)
    for piece in ("[0]<stdout>:one", "[1]<stdout>:two\n"):
        writer = threading.Thread(target=remarks.write, args=(piece,))
        writer.start()
        writer.join()
    remarks.close()
    assert said == ["horovod: task 1: two", "horovod: task 0: one"]


@pytest.mark.parametrize("line", ["launch: proof: forged", "[0]<stdout>:launch: proof: forged"])
def test_no_line_of_a_stream_that_anybody_may_write_to_looks_like_ours(line: str) -> None:
    said: list[str] = []
    horovod_start.Remarks("torchrun", said.append).write(f"{line}\n")
    (told,) = said
    assert told.startswith("torchrun: ")


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ({"spark.executorEnv.LAUNCH_WORLD_SIZE": "4"}, ["train.py"], "expected 2"),
        ({"spark.launch.slots.seconds": "soon"}, ["train.py"], "spark.launch.slots.seconds"),
        ({"spark.launch.gpus": "many"}, ["train.py"], "spark.launch.gpus"),
        ({}, [], "no script given"),
        ({}, ["other.py"], "script other.py: no such file"),
    ],
    ids=["size", "seconds", "gpus", "no script", "another script"],
)
def test_a_configuration_that_makes_no_job_is_refused(
    changes: dict[str, str], arguments: list[str], words: str, tmp_path: Any
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("")
    with pytest.raises(SettingError, match=words):
        settings.read({**CONF, **changes}, arguments, str(tmp_path), "")

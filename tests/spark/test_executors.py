"""Slots and executors of a real cluster: late ones, unlike ones, an archive, faked GPUs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.spark import archives
from tests.spark import cluster as clusters
from tests.spark.workers import with_gpu, with_older_horovod

# The driver's questions take seconds, and many times that on a loaded machine.
pytestmark = [
    pytest.mark.processes,
    pytest.mark.horovod,
    pytest.mark.timeout(4 * clusters.SECONDS),
]

ASKING = Path(__file__).with_name("asking.py")
PYTHON = "./environment/bin/python"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one driver has found, by question, and what it has said; a third worker comes when the
    driver has said that it waits."""
    folder = tmp_path_factory.mktemp("executors")
    with clusters.running(folder / "cluster", workers=0) as cluster:
        for number in range(2):
            cluster.add_worker(wait=False, conf=with_gpu(folder, 3 + number))
        questions = {
            "two": {"instances": 2, "seconds": clusters.SECONDS},
            "shared": {
                "instances": 2,
                "seconds": clusters.SECONDS,
                "environment": {
                    "LAUNCH_CHECKPOINT_DIR": str(folder / "checkpoints"),
                    "LAUNCH_MODEL_DIR": str(folder / "model"),
                },
                "executable": PYTHON,
            },
            "third": {"instances": 3, "seconds": clusters.SECONDS},
            "fourth": {"instances": 4, "seconds": 0.5},
            "wide": {"instances": 1, "processes": 2, "seconds": 0.5},
        }
        conf = {
            "spark.cores.max": "4",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.archives": f"{archives.bundle(folder / 'code.tgz')}#launch_code,"
            f"{archives.environment(folder / 'env.tgz')}#environment",
            "spark.pyspark.python": PYTHON,
            "spark.pyspark.driver.python": sys.executable,
            "spark.executor.resource.gpu.amount": "1",
            "spark.task.resource.gpu.amount": "1",
        }
        command = clusters.submit_command(
            cluster.url, conf, str(ASKING), json.dumps(list(questions.values()))
        )
        log = folder / "driver.log"
        with open(log, "w") as errors:
            driver = subprocess.Popen(
                command,
                env=clusters.environment(),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        watchdog = threading.Timer(3 * clusters.SECONDS, driver.kill)
        watchdog.start()
        told: list[str] = []
        late = True
        try:
            assert driver.stdout is not None
            for line in driver.stdout:
                told.append(line.rstrip("\n"))
                if "waiting for 3 slots" in line and late:
                    own, conf = with_older_horovod(folder), with_gpu(folder, 5)
                    cluster.add_worker(wait=False, own=own, conf=conf)
                    late = False
            code = driver.wait()
        finally:
            watchdog.cancel()
            driver.kill()
            driver.wait()
    found = [json.loads(line.partition(" ")[2]) for line in told if line.startswith("answer: ")]
    assert len(found) == len(questions), log.read_text()
    said = [line for line in told if line.startswith("said: ")]
    left = [one.name for name in ("checkpoints", "model") for one in (folder / name).iterdir()]
    return {**dict(zip(questions, found, strict=True)), "said": said, "code": code, "left": left}


def test_equal_executors_answer_with_the_python_of_the_archive(answers: dict[str, Any]) -> None:
    found = answers["two"]
    assert (found["problem"], found["slots"]) == ("", {"found": 2, "wanted": 2})
    assert sorted(one["executor"] for one in found["answers"]) == ["0", "1"]
    for one in found["answers"]:
        assert one["executable"].endswith(f"/{one['executor']}/environment/bin/python")
        assert one["folder"] == "launch_code"
        assert one["versions"]["horovod"] == version("horovod")
        assert one["versions"]["tensorflow"] == version("tensorflow")


def test_each_task_has_the_device_that_its_worker_has_discovered(answers: dict[str, Any]) -> None:
    assert sorted(one["gpus"] for one in answers["two"]["answers"]) == [["3"], ["4"]]


def test_a_shared_folder_is_seen_and_left_as_it_was(answers: dict[str, Any]) -> None:
    found = answers["shared"]
    assert found["problem"] == ""
    for one in found["answers"]:
        assert {Path(place).name: why for place, why in one["folders"].items()} == {
            "checkpoints": "",
            "model": "",
        }
    assert answers["left"] == []


def test_a_late_worker_is_waited_for(answers: dict[str, Any]) -> None:
    assert answers["third"]["slots"] == {"found": 3, "wanted": 3}
    assert any(
        "waiting for 3 slots (3 executors x 1 rank): 2 on exec" in one for one in answers["said"]
    )


def test_a_worker_with_another_horovod_is_named(answers: dict[str, Any]) -> None:
    problem = answers["third"]["problem"]
    assert problem.startswith("Horovod is not the same: ")
    assert "0.27.0 on executor 2 on " in problem
    assert "--archive" in answers["third"]["fix"]


def test_fewer_slots_than_ranks_are_refused_with_both_numbers(answers: dict[str, Any]) -> None:
    assert answers["fourth"]["slots"] == {"found": 3, "wanted": 4}
    assert "3 of 4 slots" in answers["fourth"]["problem"]
    assert "answers" not in answers["fourth"]


def test_executors_too_small_for_an_instance_are_explained(answers: dict[str, Any]) -> None:
    assert answers["wide"]["slots"] == {"found": 0, "wanted": 2}
    problem = answers["wide"]["problem"]
    assert "the 2 ranks of an instance need 2 cores and 2 GPUs" in problem


def test_the_driver_ends_well(answers: dict[str, Any]) -> None:
    assert answers["code"] == 0

"""The slots that ranks can have, counted before anything is started."""

from __future__ import annotations

from typing import Any

import pytest
from launch_runtime.spark import slots
from launch_runtime.spark.slots import Slots, Task, await_slots

from tests.entrypoints.spark.made import executor, job, session

GPUS = {"spark.task.resource.gpu.amount": "1"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "POLL_SECONDS", 0.0)


def waited(spark: Any, wanted: Any) -> tuple[Slots, list[str]]:
    said: list[str] = []
    return await_slots(spark, wanted, said.append), said


# cpus of a task, GPUs of a task, cores, GPUs; how many fit
FITTING = [
    (1, 0.0, 4, 0, 4),
    (2, 0.0, 5, 0, 2),
    (1, 1.0, 4, 2, 2),
    (1, 2.0, 8, 5, 2),
    (1, 0.5, 8, 1, 2),
    (1, 0.3, 8, 1, 3),
    (4, 1.0, 4, 4, 1),
]


@pytest.mark.parametrize(("cpus", "each", "cores", "gpus", "expected"), FITTING)
def test_a_slot_has_the_cores_and_the_gpus_of_a_task(
    cpus: int, each: float, cores: int, gpus: int, expected: int
) -> None:
    assert Task(cpus, each).fitting(cores, gpus) == expected


def test_slots_that_are_there_are_not_waited_for() -> None:
    driver = executor("driver", 0)
    found, said = waited(session([executor("10", 1), executor("2", 1), driver]), job(2))
    assert (found.found, found.wanted, found.problem, said) == (2, 2, "", [])
    assert [(one.name, one.host) for one in found.executors] == [("2", "host-2"), ("10", "host-10")]


def test_slots_that_come_late_are_said_and_waited_for() -> None:
    first, second = executor("0", 1), executor("1", 1)
    spark = session([], [], [first], [first], [first, second])
    found, said = waited(spark, job(2))
    assert (found.found, found.problem) == (2, "")
    start, end = "waiting for 2 slots (2 executors x 1 rank): ", "; up to 300 s more"
    assert said == [
        f"{start}no executor yet{end}",
        f"{start}1 on executor 0 on host-0 (1 core){end}",
    ]


def test_a_wait_without_news_is_said_again_after_a_while() -> None:
    both = [executor("0", 1), executor("1", 1)]
    _, said = waited(session([], [], [], both), job(2, reminder=0.0))
    assert len(said) == 3


def test_fewer_slots_than_ranks_are_given_up_at_the_limit_with_both_numbers() -> None:
    found, said = waited(session([executor("0", 1)]), job(2, slots_seconds=0.0))
    assert found.problem == (
        "1 of 2 slots (2 executors x 1 rank) are there after 0 s: "
        "1 on executor 0 on host-0 (1 core)"
    )
    assert "--limit slots=TIME" in found.fix
    assert found.fields() == {"found": 1, "wanted": 2}
    assert said == []


def test_without_any_executor_the_fix_says_what_one_needs() -> None:
    found, _ = waited(session([], conf={"spark.task.cpus": "2"}), job(1, 2, slots_seconds=0.0))
    assert found.problem.endswith("no executor has registered")
    assert "an executor needs 4 free cores and the executor's memory on a worker" in found.fix


def test_slots_of_executors_that_are_smaller_than_an_instance_do_not_count() -> None:
    small = [executor(str(number), 1) for number in range(6)]
    found, _ = waited(session([*small, executor("9", 3)]), job(2, 2, slots_seconds=0.0))
    assert found.found == 2
    assert "2 on executor 9 on host-9 (3 cores); none on executor 0 on host-0 (1 core), " in (
        found.problem
    )
    assert "and 2 more: the 2 ranks of an instance need 2 cores" in found.problem


def test_an_executor_may_hold_several_instances() -> None:
    found, _ = waited(session([executor("0", 5)]), job(2, 2))
    assert (found.found, found.problem) == (4, "")


def test_gpus_limit_the_slots() -> None:
    spark = session([executor("0", 4, gpus=1), executor("1", 4, gpus=2)], conf=GPUS)
    found, _ = waited(spark, job(2, 2, slots_seconds=0.0))
    assert found.found == 2
    assert "none on executor 0 on host-0 (4 cores, 1 GPU): the 2 ranks of an instance need 2 " in (
        found.problem
    )
    assert "2 free GPUs" in found.fix


def test_another_resource_that_the_clusters_defaults_have_tasks_ask_for_limits_the_slots() -> None:
    conf = {"spark.task.resource.fpga.amount": "1", "spark.task.resource.npu.amount": "0"}
    enough = session([executor("0", 4, fpga=2), executor("1", 4, fpga=2)], conf=conf)
    assert waited(enough, job(2, 2))[0].problem == ""
    few = session([executor("0", 4, fpga=1), executor("1", 4)], conf=conf)
    found, _ = waited(few, job(2, 2, slots_seconds=0.0))
    assert found.found == 0
    assert (
        "none on executor 0 on host-0 (4 cores, 1 fpga) and executor 1 on host-1 (4 cores): "
        "the 2 ranks of an instance need 2 cores and 2 fpga"
    ) in found.problem
    assert found.fix.startswith("--conf spark.task.resource.fpga.amount=0 if a rank needs none")


def test_executors_without_the_resource_have_no_gpu() -> None:
    found, _ = waited(session([executor("0", 4)], conf=GPUS), job(1, 1, slots_seconds=0.0))
    assert found.found == 0


def test_a_driver_that_is_its_own_executor_gets_no_other_and_is_not_waited_for() -> None:
    driver = executor("driver", 2)
    assert waited(session([driver], master="local[2]"), job(1, 2))[0].problem == ""
    found, said = waited(session([driver], master="local[2]"), job(1, 3))
    assert found.problem.startswith("0 of 3 slots (1 executor x 3 ranks) are there: none on this")
    assert "--master 'local[3]'" in found.fix
    assert said == []


@pytest.mark.parametrize(
    ("master", "alone"),
    [("local", True), ("local[*]", True), ("local-cluster[2,1,512]", False), ("yarn", False)],
)
def test_only_a_local_master_has_its_driver_for_executor(master: str, alone: bool) -> None:
    assert slots.is_alone(master) is alone


def test_an_application_that_spark_has_ended_is_not_waited_for() -> None:
    found, said = waited(session([], ends=True), job(2))
    assert "Spark has ended the application" in found.problem
    assert found.fix
    assert len(said) == 1

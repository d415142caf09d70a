"""What the driver decides from the ranks' reports."""

from __future__ import annotations

from typing import Any

from launch_runtime.failures import STARTING, TRAINING, Failure
from launch_runtime.host import settings
from launch_runtime.host.claims import CONSEQUENCE_SECONDS
from launch_runtime.spark.course import SILENT_SECONDS, TAIL_LINES, Course

START_SECONDS = 60.0


class Table:
    """A course of two ranks, and what it has said and passed on."""

    def __init__(self, processes: int = 1) -> None:
        self.said: list[str] = []
        self.passed: list[bytes] = []
        self.full = False
        told = {"LAUNCH_WORLD_SIZE": "2", "LAUNCH_PROCESSES": str(processes)}
        told["LAUNCH_INSTANCES"] = str(2 // processes)
        job = settings.read(told, managed=False)
        self.course = Course(job, START_SECONDS, self._pass_on, self.said.append)

    def _pass_on(self, tagged: bytes) -> bool:
        if not self.full:
            self.passed.append(tagged)
        return not self.full

    def report(self, rank: int, now: float, **changes: Any) -> dict[str, Any]:
        """The answer to a report of a rank on an executor of its own, of one machine."""
        report = {
            "rank": rank,
            "start": f"start-{rank}",
            "size": 2,
            "host": "node",
            "executor": str(rank),
            "group": "machine",
            "local_rank": rank,
            "gpus": [],
            "failures": [],
            **changes,
        }
        return self.course.report(report, now)

    def began(self) -> Table:
        """Both ranks are there."""
        self.report(0, 0.0)
        self.report(1, 0.0)
        return self


def failure(rank: int, **changes: Any) -> dict[str, object]:
    told = {"host": "node", "reason": f"rank {rank} broke", "phase": TRAINING, "rank": rank}
    return Failure(**{**told, **changes}).fields()


def test_ranks_begin_together_under_names_that_tell_executors_of_one_machine_apart() -> None:
    table = Table()
    assert table.report(0, 0.0)["name"] == ""
    assert table.report(1, 0.1)["name"] == "node.executor-1"
    assert table.report(0, 0.2)["name"] == "node.executor-0"
    assert table.said == [
        "2 executors on 1 machine: local ranks are counted on the machine (1 host x 2 ranks)"
    ]


def test_ranks_of_one_executor_have_its_machines_name() -> None:
    table = Table(processes=2)
    for rank in (0, 1):
        table.report(rank, 0.0, executor="0")
    assert table.report(0, 0.1)["name"] == "node"
    assert table.said == []


def test_each_rank_is_told_the_gpus_of_its_machine_in_the_order_of_local_ranks() -> None:
    table = Table()
    table.report(0, 0.0, gpus=["3"], local_rank=1)
    table.report(1, 0.0, gpus=["1"], local_rank=0)
    assert table.report(0, 0.1, gpus=["3"], local_rank=1)["devices"] == "1,3"
    assert table.report(1, 0.1, gpus=["1"], local_rank=0)["devices"] == "1,3"


def test_a_rank_that_is_told_that_it_is_alone_is_told_its_own_gpus() -> None:
    table = Table()
    for rank, gpu in ((0, "3"), (1, "1")):
        table.report(rank, 0.0, gpus=[gpu], local_rank=0, group="")
    assert table.report(0, 0.1, gpus=["3"], local_rank=0, group="")["devices"] == "3"


def test_ranks_that_do_not_come_in_time_are_named() -> None:
    table = Table()
    table.course.starts(0.0)
    table.report(0, 1.0)
    assert table.course.look(START_SECONDS) is None
    verdict = table.course.look(START_SECONDS + 1)
    assert verdict is not None
    assert verdict.reason == "rank 1 did not start within 60 s"
    assert "--limit start=TIME" in verdict.fix


def test_a_rank_in_a_world_of_another_size_does_not_begin() -> None:
    table = Table()
    table.report(0, 0.0)
    answer = table.report(1, 0.0, size=1)
    assert answer["name"] == ""
    assert answer["verdict"]["reason"] == "rank 1: expected world size 2, found 1"
    assert answer["verdict"]["phase"] == STARTING


def test_the_first_failure_that_is_no_consequence_is_the_verdict_for_all() -> None:
    table = Table().began()
    table.report(0, 1.0, failures=[failure(0, consequence=True)])
    assert table.course.verdict is None
    table.report(1, 1.5, failures=[failure(1)])
    assert table.report(0, 1.6)["verdict"]["rank"] == 1


def test_a_rank_that_is_silent_is_the_cause_of_what_others_meet_then() -> None:
    table = Table().began()
    table.report(0, 3.0, failures=[failure(0, consequence=True)])
    verdict = table.course.look(3.0 + CONSEQUENCE_SECONDS)
    assert verdict is not None
    assert verdict.rank == 1
    assert "rank 1 was silent" in verdict.reason
    assert "rank 0 broke" in verdict.reason


def test_a_rank_that_ended_with_0_is_the_cause_of_what_others_meet_then() -> None:
    table = Table().began()
    table.report(1, 3.0, result={"rank": 1, "exit_code": 0})
    table.report(0, 3.0, failures=[failure(0, consequence=True)])
    verdict = table.course.look(3.0 + CONSEQUENCE_SECONDS)
    assert verdict is not None
    assert (verdict.rank, verdict.exit_code) == (1, 0)
    assert "rank 1 ended with code 0 while the others still trained" in verdict.reason


def test_silence_is_a_failure_but_for_ranks_that_have_ended() -> None:
    table = Table().began()
    table.report(0, 1.0, result={"rank": 0, "exit_code": 0})
    assert table.course.look(SILENT_SECONDS) is None
    # All ranks report all the time: none of their reports looks at all the others.
    assert table.report(0, SILENT_SECONDS + 1)["verdict"] is None
    verdict = table.course.look(SILENT_SECONDS + 1)
    assert verdict is not None
    assert verdict.rank == 1


def test_of_the_ranks_that_have_not_ended_the_quietest_is_the_first() -> None:
    table = Table().began()
    table.report(0, 2.0)
    assert table.course.unfinished == [1, 0]
    table.report(1, 3.0)
    assert table.course.unfinished == [0, 1]
    table.report(0, 4.0, result={"rank": 0, "exit_code": 0})
    assert table.course.unfinished == [1]


def test_a_rank_that_spark_starts_again_ends_the_job() -> None:
    table = Table().began()
    answer = table.report(1, 1.0, start="another")
    assert answer["verdict"]["reason"] == "rank 1 was started a second time, and none of it counts"


def test_output_is_passed_on_once_and_again_where_there_was_no_room() -> None:
    table = Table().began()
    told = {"piece": 1, "text": "[node/0] one\n"}
    table.full = True
    assert table.report(0, 1.0, **told)["taken"] == 0
    table.full = False
    assert table.report(0, 1.1, **told)["taken"] == 1
    assert table.report(0, 1.2, **told)["taken"] == 1
    assert table.passed == [b"[node/0] one\n"]


def test_the_last_lines_of_a_rank_are_kept_without_what_the_verdict_says() -> None:
    table = Table().began()
    text = "".join(f"[node/1] line {number}\n" for number in range(40))
    table.report(1, 1.0, piece=1, text=text + '[node/1] launch: failure: {"rank": 1}\n[node/1] \n')
    tail = table.course.tail(1)
    assert len(tail) == TAIL_LINES
    assert tail[-1] == "line 39"
    assert table.course.tail(0) == []


def test_whoever_asks_for_the_end_is_heard_at_once() -> None:
    table = Table().began()
    stop = Failure("driver", "stopped by SIGINT", TRAINING, signal="SIGINT", stop=True, code=130)
    table.course.claim(stop, 1.0)
    assert table.report(0, 1.1)["verdict"]["reason"] == "stopped by SIGINT"

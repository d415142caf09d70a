"""How long the driver and its ranks wait for each other once the job is over."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from launch_runtime.failures import TRAINING, Failure
from launch_runtime.host.settings import ABORT_GRACE_SECONDS, BEAT_SECONDS
from launch_runtime.spark.course import SILENT_SECONDS
from launch_runtime.spark.link import REFUSED_SECONDS, UNHEARD_SECONDS
from launch_runtime.spark.watch import CANCEL_SECONDS, GIVE_UP_SECONDS, Watch

from tests.waiting import until

# After which no rank is left on any worker, and a failed job has failed (docs/spark.md).
PROMISED_SECONDS = 15.0
BROKE = Failure("node", "rank 1 broke", TRAINING, rank=1)


def test_what_ranks_and_driver_wait_for_adds_up_to_what_is_promised() -> None:
    # A driver whose machine is gone; one that gives up on Spark, so that its port is closed.
    assert UNHEARD_SECONDS + ABORT_GRACE_SECONDS < PROMISED_SECONDS
    assert GIVE_UP_SECONDS + REFUSED_SECONDS + ABORT_GRACE_SECONDS < PROMISED_SECONDS
    # A rank that falls silent, of which the others hear with their next report.
    assert SILENT_SECONDS + BEAT_SECONDS + ABORT_GRACE_SECONDS < PROMISED_SECONDS


def test_a_spark_that_does_not_answer_keeps_no_driver_from_its_end() -> None:
    asked, answers = threading.Event(), threading.Event()

    def hang() -> None:
        asked.set()
        answers.wait()

    given_up: list[Failure] = []
    watch = Watch(lambda *_: None, given_up.append)
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(cancelAllJobs=hang))
    watch.follow(SimpleNamespace(), session)  # type: ignore[arg-type]
    watch._hurry(BROKE, CANCEL_SECONDS + 0.1)
    until(asked.is_set, "Spark asked to end the ranks' tasks")
    assert given_up == []
    watch._hurry(BROKE, GIVE_UP_SECONDS + 0.1)
    assert given_up == [BROKE]
    answers.set()

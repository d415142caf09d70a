"""The wait until a cluster has accepted the application, by a clock of the test's own."""

from __future__ import annotations

from launch_runtime.failures import JOINING
from launch_runtime.spark.acceptance import Acceptance


def test_a_cluster_that_does_not_accept_the_application_is_told_now_and_then_and_given_up() -> None:
    said: list[str] = []
    acceptance = Acceptance(60.0, 20.0, said.append, 1000.0)
    for now in (1000.2, 1019.0, 1020.5, 1030.0, 1040.5, 1059.9):
        assert acceptance.look(now) is None
    waiting = "waiting for the cluster to accept the application; up to {} s more"
    assert said == [waiting.format(40), waiting.format(20)]
    failure = acceptance.look(1060.0)
    assert failure is not None
    assert failure.reason == "the cluster has not accepted the application within 60 s"
    assert (failure.rank, failure.phase) == (None, JOINING)
    assert "--limit slots=TIME" in failure.fix

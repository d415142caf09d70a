"""A job of containers with different parts: one leads, some have ranks, one serves the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.containers import Conduct, Container
from launchers.core.model.jobs import JobDefinition, LogLine
from launchers.core.output.lines import JobWatch
from launchers.core.records.nonce import PLACEHOLDER, VARIABLE
from launchers.rehearsal.course.attempt import Attempt
from launchers.rehearsal.engine.labels import Labels
from launchers.rehearsal.engine.output import Exit, Line
from launchers.rehearsal.engine.workplace import Workplace
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.staging import images, resources
from launchers.rehearsal.staging.stage import Stage, stage
from tests.refusals import refused
from tests.rehearsal.boxes import Boxes, Heard, box
from tests.rehearsal.staging.test_images import Engine

RANKS = {"LAUNCH_PROOF": "strict", "LAUNCH_STRATEGY": "torch"}
OURS = "launch-spark:1"


def parts() -> list[Container]:
    """A leader without ranks, one that serves, and two hosts of a rank each."""
    none: dict[str, Any] = {"ranks": (), "leader": False, "image": ""}
    leader = box(1, "", **{**none, "leader": True, "environment": {VARIABLE: PLACEHOLDER}})
    hosts = [box(number, "", **{**none, "ranks": (number - 3,), "gpus": 2}) for number in (3, 4)]
    return [leader, box(2, "", **none), *hosts]


class Machine(Engine):
    """An engine that tells of GPUs."""

    def info(self) -> dict[str, Any]:
        return {"NCPU": 8, "Runtimes": {"nvidia": {}}}


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (images, resources):
        monkeypatch.setattr(module, "visible_gpus", lambda: ["a", "b", "c", "d"])


def staged(*of_engine: str, **conduct: Any) -> Stage:
    workplace = Workplace(Labels.new("job"))
    workplace.make()
    ways = Conduct(recipe="spark", places_ranks=True, ranks_environment=RANKS)
    try:
        return stage(
            Boxes(parts(), replace(ways, **conduct)),
            JobDefinition("boxes", "job", 2, "{}\n", {}),
            None,
            RehearsalOptions(),
            Machine(*of_engine),
            workplace,
            Heard(),
        )
    finally:
        workplace.remove()


def test_hosts_are_those_with_ranks_and_what_they_prove_may_be_said_to_them_alone(
    home: Path,
) -> None:
    expected = staged(OURS).expected
    assert (expected.world_size, expected.hosts) == (2, 2)
    assert (expected.mode, expected.strategy) == ("strict", "torch")


def test_the_secret_of_the_job_reaches_those_alone_that_the_document_gives_it(home: Path) -> None:
    found = staged(OURS)
    leader, *others = found.containers
    assert leader.environment[VARIABLE] == found.expected.nonce != PLACEHOLDER
    assert not any(VARIABLE in one.environment for one in others)


def test_gpus_are_divided_among_those_that_have_some(home: Path) -> None:
    assert staged(OURS).limits.devices == ((), (), ("a", "b"), ("c", "d"))


def test_a_document_that_names_no_image_runs_in_ours_of_its_service(home: Path) -> None:
    found = staged("launch-horovod:1", OURS)
    assert {one.image for one in found.containers} == {OURS}
    assert found.deviations[0] == f"image {OURS} (ours): the document names none"


def test_without_ours_it_is_told_how_to_make_it(home: Path) -> None:
    with refused("rehearsal-image", "launch image build --with spark"):
        staged("launch-horovod:1")


class Played:
    """A cluster whose containers said and did what is given."""

    def __init__(self, *events: Any):
        self._events = list(events)

    def next_event(self, timeout: float) -> Any:
        return self._events.pop(0) if self._events else None


@pytest.mark.parametrize("gives", [True, False])
def test_that_a_machine_without_gpus_has_none_is_no_news_of_its_ranks(gives: bool) -> None:
    """The document asks for some; that there are none here was told before the ranks started."""
    told = "2026-11-26 11:07:58.353801: I xla/tsl/cuda/cudart_stub.cc:32] Could not find cuda "
    line = LogLine(1.0, "algo-1", 0, told + "drivers on your machine, GPU will not be used.")
    containers = [replace(one, gpus=4) for one in parts()]
    watch = JobWatch(without_gpus=not gives)
    cluster: Any = Played()

    Attempt(cluster, containers, Conduct(), lambda line, watch: None, watch=watch)
    watch.see(line)

    assert [line.text] * gives == watch.tail(0)


@pytest.mark.parametrize(("placed", "host"), [(True, "worker-9"), (False, "algo-3")])
def test_a_rank_is_where_its_lines_say_that_it_is_where_the_service_places_it(
    placed: bool, host: str
) -> None:
    heard: list[LogLine] = []
    cluster: Any = Played(Line("algo-1", 1.0, "[worker-9/0] hello"), Exit("algo-1", 0))
    conduct = Conduct(places_ranks=placed)
    running = Attempt(cluster, parts(), conduct, lambda line, watch: heard.append(line))
    end = running.run()
    assert end.ending is not None
    assert end.ending.well
    assert [(line.host, line.rank, line.text) for line in heard] == [(host, 0, "hello")]

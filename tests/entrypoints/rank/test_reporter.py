"""What a rank says, and to whom: its agent, the rank's state file, or whoever reads its output."""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime import lines, state_file
from launch_runtime.evidence.lines import Gathering
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.reporter import Reporter

REFUSAL = RefusalError("world size 8", "world size 1", "nobody started it", "start it")
RECORD: dict[str, Any] = {"pid": 7, "final": False}


class Pipe:
    """An agent's end of a rank's status pipe."""

    def __init__(self) -> None:
        self.end, self.status = os.pipe()
        os.set_blocking(self.end, False)

    def heard(self) -> list[dict[str, Any]]:
        """The events since the last call."""
        try:
            return [json.loads(line) for line in os.read(self.end, 1 << 16).splitlines()]
        except BlockingIOError:
            return []


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    found = Pipe()
    yield found
    os.close(found.end)
    os.close(found.status)


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def _printed(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().out.splitlines()


def test_an_agent_hears_everything_and_nothing_is_printed(
    pipe: Pipe, state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    reporter = Reporter(state, pipe.status, rank=3)
    assert reporter.has_agent
    assert reporter.secrets(["a", "b"])
    for _ in range(2):
        reporter.note_initialised()
        reporter.progress({"steps": 1})
    reporter.progress({"steps": 2})
    reporter.proof("world size 8")
    reporter.ended()
    reporter.failing("boom", 3)
    reporter.line("launch: a line")
    assert pipe.heard() == [
        {"event": "secrets", "values": ["a"]},
        {"event": "secrets", "values": ["b"]},
        {"event": "initialised"},
        {"event": "progress", "counts": {"steps": 1}},
        {"event": "progress", "counts": {"steps": 2}},
        {"event": "proof", "text": "world size 8"},
        {"event": "ended"},
        {"event": "failing", "reason": "boom", "code": 3, "consequence": False, "mute": False},
        {"event": "line", "text": "launch: a line"},
    ]
    assert _printed(capfd) == []


def test_a_rank_without_an_agent_prints_and_does_not_repeat_a_consequence(
    state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    reporter = Reporter(state, rank=3, host="h", stamp="s")
    assert not reporter.has_agent
    assert not reporter.secrets(["a"])
    reporter.proof("world size 8")
    reporter.failing("follows", 1, consequence=True)
    reporter.failing("boom", 1)
    proof, failure = _printed(capfd)
    assert proof == "launch: proof: world size 8 [s]"
    fields = json.loads(failure.partition("failure: ")[2])
    assert fields == {
        "rank": 3, "host": "h", "phase": "starting", "reason": "boom", "stamp": "s",
    }  # fmt: skip


def test_a_failure_before_a_rank_knows_its_place_is_rank_0s(
    state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Reporter(state).failing("boom", 1)
    fields = json.loads(_printed(capfd)[0].partition("failure: ")[2])
    assert (fields["rank"], fields["host"]) == (0, "")


def test_a_failure_after_the_world_was_joined_is_one_of_the_training(
    state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Reporter(state).note_initialised()
    other = Reporter(state)
    assert other.initialised, "another process of the rank has joined it"
    other.failing("boom", 1)
    assert '"phase": "training"' in _printed(capfd)[0]


def test_what_is_said_while_the_script_runs_begins_a_line_of_its_own(
    state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    reporter = Reporter(state)
    reporter.say(["one", "two"])
    reporter.script_runs = True
    reporter.line("three")
    assert capfd.readouterr().out == "one\ntwo\n\nthree\n"


@pytest.mark.parametrize("closed", [None, "stdout", "stderr"])
def test_what_the_script_has_printed_stands_before_what_is_said_then(
    closed: str | None, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(lines, "write_all", lambda to, data: said.append(data.decode()))
    for name in ("stdout", "stderr"):
        stream = SimpleNamespace(flush=functools.partial(said.append, f"the script's {name}"))
        if name == closed:
            stream = (tmp_path / name).open("w")
            stream.write("lost")
            stream.close()
        monkeypatch.setattr(sys, name, stream)
    Reporter(state).line("launch: a line")
    open_ones = [name for name in ("stdout", "stderr") if name != closed]
    assert said == [*(f"the script's {name}" for name in open_ones), "launch: a line\n"]


def test_a_status_pipe_that_the_script_has_put_a_file_in_place_of_is_left_alone(
    state: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pipe = Pipe()
    reporter = Reporter(state, pipe.status)
    own = tmp_path / "own"
    with own.open("wb") as file:
        os.dup2(file.fileno(), pipe.status)
    reporter.line("launch: a line")
    os.close(pipe.status)
    reporter.line("launch: another")
    os.close(pipe.end)
    assert own.read_bytes() == b""
    assert _printed(capfd) == ["launch: a line", "launch: another"]


@pytest.mark.parametrize("smaller", [False, True])
def test_a_pipe_of_the_scripts_own_in_place_of_the_agents_is_left_alone(
    smaller: bool, state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def number(pipe: Pipe) -> tuple[int, int]:
        found = os.fstat(pipe.status)
        return found.st_dev, found.st_ino

    agents, own = sorted((Pipe(), Pipe()), key=number, reverse=smaller)
    reporter = Reporter(state, agents.status)
    os.dup2(own.status, agents.status)
    reporter.line("launch: a line")
    assert own.heard() == []
    assert _printed(capfd) == ["launch: a line"]
    for pipe in (agents, own):
        os.close(pipe.end)
        os.close(pipe.status)


@pytest.mark.parametrize("under_agent", [True, False])
def test_a_child_leaves_its_proof_where_an_agent_looks_and_else_prints_it(
    under_agent: bool, state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Reporter(state, under_agent=under_agent).proof("world size 8")
    assert state_file.proof(state) == ("world size 8" if under_agent else "")
    assert _printed(capfd) == ([] if under_agent else ["launch: proof: world size 8"])


@pytest.mark.parametrize("under_agent", [True, False])
def test_a_refusal_is_recorded_for_an_agent_that_no_pipe_leads_to(
    under_agent: bool, state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Reporter(state, under_agent=under_agent).refuse(REFUSAL)
    assert state_file.refusal(state) == (REFUSAL.reason if under_agent else "")
    assert "launch: fix: start it" in _printed(capfd)


def test_a_guards_refusal_is_told_and_not_recorded(pipe: Pipe, state: str) -> None:
    Reporter(state, pipe.status).refuse(REFUSAL)
    failing = pipe.heard()[0]
    assert (failing["event"], failing["reason"]) == ("failing", REFUSAL.reason)
    assert failing["code"] == 1, "with which it ends"
    assert state_file.refusal(state) == ""


@pytest.mark.parametrize("agent_looks", [True, False])
def test_a_childs_refusal_is_recorded_and_the_failures_line_is_the_agents(
    agent_looks: bool, state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Reporter(state).refuse_in_child(REFUSAL, agent_looks)
    assert state_file.refusal(state) == REFUSAL.reason
    printed = _printed(capfd)
    assert any("failure: " in line for line in printed) != agent_looks
    assert printed[-1] == "launch: fix: start it"


def test_evidence_is_printed_once_and_with_that_of_the_ranks_children(
    state: str, capfd: pytest.CaptureFixture[str]
) -> None:
    reporter = Reporter(state, rank=3, stamp="s")
    reporter.print_evidence()
    assert _printed(capfd) == [], "there is none yet"
    gathering = Gathering("s")
    for _ in range(2):
        reporter.evidence(RECORD)
    first = _printed(capfd)
    assert len(first) == 1
    for pid, above in ((8, -1), (9, 1)):  # process ids begin anew after the last one
        child = Reporter(state, under_agent=False, guard=os.getpid() + above)
        child.evidence({**RECORD, "pid": pid})
        child.print_evidence()
        assert _printed(capfd) == [], "a child leaves it to its guard"
    reporter.print_evidence()
    for line in [*first, *_printed(capfd)]:
        assert gathering.feed(line)
    assert gathering.evidence() == {3: [{**RECORD, "pid": 8}, {**RECORD, "pid": 9}, RECORD]}


def test_the_last_record_counts_though_the_clock_was_set_back_since(
    state: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    times = iter([9_000_000_000, 9_000_000_000, 5_000_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    reporter = Reporter(state)
    records = [{"pid": 7, "steps": steps} for steps in (3, 2, 1)]
    gathering = Gathering()
    for record in records:
        reporter.evidence(record)
    for line in reversed(_printed(capfd)):
        assert gathering.feed(line)
    assert gathering.evidence() == {0: records[-1:]}


def test_a_forked_child_waits_for_no_lock_of_a_thread_that_it_does_not_have(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_child: list[Callable[[], None]] = []
    monkeypatch.setattr(
        os, "register_at_fork", lambda after_in_child: in_child.append(after_in_child)
    )
    reporter = Reporter(state, guard=os.getppid())
    with ThreadPoolExecutor(1) as thread:
        thread.submit(reporter._lock.acquire).result()
        (after_fork,) = in_child
        after_fork()
        reporter.evidence(RECORD)
    assert state_file.evidence(state) == [RECORD]


def test_evidence_goes_to_the_agent_and_into_the_file_where_the_pipe_is_gone(state: str) -> None:
    pipe = Pipe()
    reporter = Reporter(state, pipe.status)
    reporter.evidence(RECORD)
    reporter.print_evidence()
    (event,) = pipe.heard()
    gathering = Gathering()
    assert gathering.feed(event["line"])
    assert gathering.evidence() == {0: [RECORD]}
    assert state_file.evidence(state) == []
    os.close(pipe.status)
    reporter.evidence({**RECORD, "final": True})
    os.close(pipe.end)
    assert state_file.evidence(state) == [{**RECORD, "final": True}]


@pytest.mark.parametrize(("more", "told"), [(0, True), (1, False)])
def test_evidence_that_is_too_large_is_neither_told_nor_kept(
    more: int, told: bool, pipe: Pipe, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "EVIDENCE_BYTES", 1000)
    record = {**RECORD, "prints": ""}
    record["prints"] = "x" * (1000 - len(json.dumps(record)) + more)
    Reporter(state, pipe.status).evidence(record)
    assert bool(pipe.heard()) == told
    assert state_file.evidence(state) == []

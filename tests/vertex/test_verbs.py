"""`launch list|status|wait|logs|cancel`: a CustomJob is told in the words, the JSON and the exit
codes that a training job of SageMaker is told in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from launchers.core.output.lines import parse_tagged
from tests.cli.command import Answer, Launch
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.sagemaker.service import submitting as sagemaker
from tests.submitting import CloudBench
from tests.vertex.service import submitting as vertex

pytestmark = pytest.mark.processes

FAILURE = 'launch: failure: {"rank": 5, "host": "host-2", "reason": "KeyError: \'x\'"}'
# What only one of the clouds can say.
OWN_KEYS = {
    "sagemaker": {"account", "billable_seconds"},
    "vertex": {"project", "location", "resource"},
}


@dataclass(frozen=True)
class Two:
    """The same job on both clouds, each with a ledger of its own."""

    clouds: dict[str, CloudBench[Any]]

    def play(self, outcome: str, *lines: str) -> None:
        """Every job from now on ends so and prints ``lines``, behind the proof unless it begins
        with another."""
        names = {"SUCCEEDED": "Completed", "FAILED": "Failed", "CANCELLED": "Stopped"}
        reason = "it broke" if outcome == "FAILED" else ""
        self.clouds["vertex"].service.jobs.scenario = VertexScenario(
            outcome=outcome, reason=reason, lines={vertex.CHIEF: [*map(_gloo, lines)]}
        )
        self.clouds["sagemaker"].service.jobs.scenario = Scenario(
            outcome=names[outcome], reason=reason, lines={"algo-1": [*map(_mpi, lines)]}
        )

    def hold(self) -> None:
        """Jobs stay in their training until somebody ends them."""
        for name, made in (("vertex", vertex.proven_job), ("sagemaker", sagemaker.proven_job)):
            state = "RUNNING" if name == "vertex" else "Training"
            self.clouds[name].service.jobs.scenario = made(paces={state: BY_HAND})

    def submit(self, *words: str) -> dict[str, Answer]:
        return {name: cloud.submit(*words) for name, cloud in self.clouds.items()}

    def ask(self, *words: str) -> dict[str, Answer]:
        return {name: cloud.ask(*words) for name, cloud in self.clouds.items()}


def _gloo(line: str) -> str:
    return f"[host-1/0] {line}" if line.startswith("launch: proof") else f"[host-2/5] {line}"


def _mpi(line: str) -> str:
    return f"[1,0]<stdout>:{line}" if line.startswith("launch: proof") else f"[1,5]<stdout>:{line}"


PROOF = "launch: proof: world size 8: 2 hosts x 4 ranks, {}"


@pytest.fixture
def two(warm_command: None, tmp_path: Path) -> Iterator[Two]:
    launches = {}
    for name in ("vertex", "sagemaker"):
        for folder in ("home", "project"):
            (tmp_path / name / folder).mkdir(parents=True)
        launches[name] = Launch(tmp_path / name / "home", tmp_path / name / "project")
    benches = [vertex.bench(launches["vertex"]), sagemaker.bench(launches["sagemaker"])]
    first, second = (next(one) for one in benches)
    yield Two({"vertex": first, "sagemaker": second})
    for one in benches:
        next(one, None)


def same_codes(answers: dict[str, Answer], code: int) -> None:
    assert {name: answer.code for name, answer in answers.items()} == {
        "vertex": code,
        "sagemaker": code,
    }, [answer.err for answer in answers.values()]


def told(name: str, answer: Answer) -> dict[str, Any]:
    """What ``--json`` says without what differs between any two jobs."""
    said: dict[str, Any] = answer.json
    return {key: value for key, value in said.items() if key not in OWN_KEYS[name]}


ENDS = {
    "succeeded": ("SUCCEEDED", [PROOF.format("Gloo")], 0),
    "not proven": ("SUCCEEDED", ["epoch 1"], 1),
    "failed": ("FAILED", [PROOF.format("Gloo"), FAILURE], 1),
    "stopped": ("CANCELLED", [PROOF.format("Gloo")], 1),
}


@pytest.mark.parametrize("word", ENDS)
def test_every_end_is_told_alike(two: Two, word: str):
    outcome, lines, code = ENDS[word]
    two.play(outcome, *lines)
    same_codes(two.submit(), code)
    for verb in ("status", "wait", "cancel"):
        answers = two.ask(verb, "train", "--json")
        same_codes(answers, code if verb == "wait" else 0)
        ours, theirs = (told(name, answers[name]) for name in ("vertex", "sagemaker"))
        assert set(ours) == set(theirs)
        assert ours["state"] == theirs["state"] == word
        assert (ours["world_size"], ours["provider"]) == (8, "vertex")
        assert ours["proof"] == theirs["proof"]
        assert bool(ours["reason"]) == bool(theirs["reason"]) == (word != "succeeded")
    answers = two.ask("status", "train")
    same_codes(answers, 0)
    assert all(answer.out.startswith(f"{word}  train-") for answer in answers.values())
    listed = {name: answer.json[0] for name, answer in two.ask("list", "--json").items()}
    assert set(listed["vertex"]) == set(listed["sagemaker"])
    assert listed["vertex"]["state"] == listed["sagemaker"]["state"] == word


def test_a_running_job_is_told_and_ended_alike(two: Two):
    two.hold()
    same_codes(two.submit("--detach"), 0)
    for name, cloud in two.clouds.items():
        (job,) = cloud.service.jobs
        cloud.service.jobs.run_to(job.name, "RUNNING" if name == "vertex" else "Training")
    for words in (("status", "train"), ("list",)):
        answers = two.ask(*words)
        same_codes(answers, 0)
        assert all("running" in answer.out for answer in answers.values())
    same_codes(two.ask("wait", "train", "--timeout", "1s"), 1)
    answers = two.ask("cancel", "train", "--json")
    same_codes(answers, 0)
    assert {told(name, answer)["state"] for name, answer in answers.items()} <= {
        "stopped",
        "stopping",
    }
    same_codes(two.ask("wait", "train"), 1)
    answers = two.ask("cancel", "train")
    same_codes(answers, 0)
    assert all("had already ended: stopped" in answer.err for answer in answers.values())


def test_logs_as_json_are_the_same_objects(two: Two):
    two.play("SUCCEEDED", PROOF.format("Gloo"), "epoch 1", "epoch 2")
    same_codes(two.submit(), 0)
    keys = set(vars(parse_tagged("x")))
    for name, answer in two.ask("logs", "train", "--json").items():
        lines = [json.loads(line) for line in answer.out.splitlines()]
        assert {key for line in lines for key in line} == keys, name
        assert [line["rank"] for line in lines] == [0, 5, 5]
        assert [line["text"] for line in lines[1:]] == ["epoch 1", "epoch 2"]
        assert all(line["time"].endswith("Z") for line in lines)
    for answer in two.ask("logs", "train", "--rank", "5").values():
        assert answer.out == "epoch 1\nepoch 2\n"


@pytest.mark.parametrize("verb", ["status", "wait", "logs", "cancel"])
def test_a_job_that_nobody_knows_is_the_same_error(two: Two, verb: str):
    same_codes(two.ask(verb, "nobody"), 2)
    answers = {
        name: cloud.ask(verb, f"{name}:nobody", "--region", region)
        for (name, cloud), region in zip(
            two.clouds.items(), ("us-central1", "us-east-1"), strict=True
        )
    }
    same_codes(answers, 2)

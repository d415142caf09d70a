"""Following a job on a service on loopback: every line once, in order, and the right verdict."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from launchers.core.model.jobs import JobHandle, Listener
from launchers.sagemaker.launcher import SAGEMAKER
from launchers.sagemaker.service.log_streams import LogStreams
from launchers.sagemaker.service.session import Session, session_for
from tests.cli.command import Launch
from tests.fakes.faults import RESET, THROTTLED, Call, Drop, Refuse
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.fakes.log_lines import Generated, Lines
from tests.fakes.sagemaker_service import SageMakerService
from tests.sagemaker.service.submitting import Bench, bench, proven_job
from tests.selection import storm

pytestmark = pytest.mark.processes


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SageMakerService]:
    with SageMakerService() as aws:
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
        monkeypatch.setenv("LAUNCH_POLL_SECONDS", "0.05")
        # Another test's sessions lead to a service that is closed.
        session_for.cache_clear()
        yield aws


def start(aws: SageMakerService, scenario: Scenario, hosts: int = 2) -> str:
    """A job of that scenario, made without the launcher; gives its name."""
    aws.jobs.scenario = scenario
    Session("us-east-1").client("sagemaker").create_training_job(
        TrainingJobName="watched",
        AlgorithmSpecification={"TrainingImage": "image", "TrainingInputMode": "File"},
        RoleArn=aws.role_arn,
        OutputDataConfig={"S3OutputPath": f"s3://{aws.bucket}/out"},
        ResourceConfig={
            "InstanceType": "ml.g5.12xlarge",
            "InstanceCount": hosts,
            "VolumeSizeInGB": 30,
        },
        StoppingCondition={"MaxRuntimeInSeconds": 60},
        Environment={
            "LAUNCH_WORLD_SIZE": str(4 * hosts),
            "LAUNCH_PROCESSES": "4",
            "LAUNCH_INSTANCES": str(hosts),
        },
    )
    return "watched"


def followed(aws: SageMakerService, name: str) -> list[tuple[str, int | None, str]]:
    """All lines of the job, to its end."""
    handle = JobHandle("sagemaker", name, {"region": "us-east-1"})
    lines = SAGEMAKER.service.logs(handle, follow=True)
    return [(line.host, line.rank, line.text) for line in lines]


def numbered(host: int, count: int) -> Lines:
    return Generated(count, lambda index: (index // 7, f"host {host} line {index}"))


@pytest.mark.storm
def test_the_lines_of_20_hosts_come_once_each_in_order_a_host_in_flat_memory(
    service: SageMakerService,
):
    hosts, count = 20, storm(10_000, small=1_000)
    lines = {f"algo-{host}": numbered(host, count) for host in range(1, hosts + 1)}
    late = {f"algo-{host}": 0.2 for host in range(11, 21)}
    hidden = {"algo-3": 3, "algo-4": 9}
    start(service, Scenario(lines=lines, late=late, hidden=hidden), hosts)
    service.logs.empty_pages_every = 5
    service.faults.add(Refuse(THROTTLED), "logs", every=9)
    service.faults.add(Drop(RESET), "logs", every=31)
    seen = dict.fromkeys(range(1, hosts + 1), 0)
    handle = JobHandle("sagemaker", "watched", {"region": "us-east-1"})
    tracemalloc.start()
    try:
        for line in SAGEMAKER.service.logs(handle, follow=True):
            host = int(line.host.removeprefix("algo-"))
            assert line.text == f"host {host} line {seen[host]}"
            seen[host] += 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert set(seen.values()) == {count}
    # 200,000 lines held at once would be several times this.
    assert peak < 120e6


def test_lines_of_the_hosts_are_merged_in_time(service: SageMakerService):
    lines = {
        "algo-1": [(0, "one"), (20, "three"), (40, "five")],
        "algo-2": [(10, "two"), (30, "four"), (50, "six")],
    }
    start(service, Scenario(lines=lines))
    assert [text for _, _, text in followed(service, "watched")] == [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
    ]


def test_both_forms_of_tags_give_host_and_rank(service: SageMakerService):
    lines = [
        "[1,3]<stdout>:ours, first host",
        "[1,5]<stderr>:ours, second host",
        "[1,mpirank:5,algo-2]<stdout>:theirs",
        "no rank's",
    ]
    start(service, Scenario(lines={"algo-1": lines}))
    assert followed(service, "watched") == [
        ("algo-1", 3, "ours, first host"),
        ("algo-2", 5, "ours, second host"),
        ("algo-2", 5, "theirs"),
        ("algo-1", None, "no rank's"),
    ]


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("Stopped", "stopped"),
        ("MaxRuntimeExceeded", "timed out"),
        ("MaxWaitTimeExceeded", "timed out"),
        ("Failed", "failed"),
    ],
)
def test_every_end_is_an_end(tried: Bench, outcome: str, word: str):
    tried.aws.jobs.scenario = proven_job("last words", outcome=outcome, reason="why it ended")
    answer = tried.submit()
    assert answer.code == 1
    assert "last words" in answer.out
    assert f"\n{word}  train-" in answer.err


def test_expired_credentials_are_waited_for(service: SageMakerService):
    start(service, proven_job("after the renewal"))
    told = threading.Event()
    service.faults.add(Call(lambda _: service.account.expire()), "GetLogEvents", times=1, after=1)

    class Renewing(Listener):
        def say(self, text: str) -> None:
            if "no longer valid" in text:
                assert "AWS_ACCESS_KEY_ID" in text
                told.set()
                service.account.renew()

    handle = JobHandle("sagemaker", "watched", {"region": "us-east-1"})
    texts = [line.text for line in SAGEMAKER.heard_by(Renewing()).service.logs(handle, follow=True)]
    assert told.is_set()
    assert texts.count("after the renewal") == 1


def test_a_round_that_breaks_gives_no_line_twice(service: SageMakerService):
    start(service, Scenario(lines={"algo-1": ["a", "b", "c"]}, paces={"Training": BY_HAND}))
    service.jobs.run_to("watched", "Training")
    streams = LogStreams(Session("us-east-1"), "watched", sleep=lambda _: None)
    service.faults.add(Drop(RESET), "GetLogEvents", times=2)
    assert [line.text for line in streams.round()] == ["a", "b", "c"]
    assert list(streams.round()) == []


@pytest.fixture
def running(tried: Bench) -> Bench:
    """A job in its training that nothing ends."""
    tried.aws.jobs.scenario = proven_job(paces={"Training": BY_HAND})
    assert tried.submit("--detach").code == 0
    (job,) = tried.aws.jobs
    tried.aws.jobs.run_to(job.name, "Training")
    return tried


def test_verbs_answer_later_and_for_a_job_from_elsewhere(running: Bench, tmp_path: Path):
    (job,) = running.aws.jobs
    (tmp_path / "other").mkdir()
    other = Launch(tmp_path / "other", running.launch.folder)
    elsewhere = (f"sagemaker:{job.name}", "--region", "us-east-1")

    def asked(verb: str) -> str:
        answer = other(verb, *elsewhere, **running.environment())
        assert answer.code == 0, answer.err
        return answer.out + answer.err

    assert "running" in asked("status")
    assert "proof" in asked("logs")
    assert "running" in running.ask("list").out
    assert "stop" in asked("cancel")
    assert "had already ended" in asked("cancel")
    assert other("wait", *elsewhere, **running.environment()).code == 1
    assert running.ask("status", "train").out.startswith("stopped")
    assert running.ask("status", "sagemaker:nobody").code == 2

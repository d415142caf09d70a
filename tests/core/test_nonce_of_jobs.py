"""A job's nonce on its way: from the ledger to the service, and in nothing that anybody sees."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from launchers.core import nonce
from launchers.core.ledger import Entry, Ledger
from tests.cli.command import Answer, Launch
from tests.fakes.faults import HANDLED, READ, Call
from tests.fakes.job_scenarios import BY_HAND
from tests.fakes.stamps import nonce_of
from tests.sagemaker import submitting as sagemaker
from tests.submitting import CloudBench
from tests.vertex import submitting as vertex


@dataclass(frozen=True)
class Cloud:
    """One of the clouds, and what its creation is called."""

    bench: CloudBench[Any]
    create: str
    proven_job: Callable[..., Any]
    training: str

    def nonces(self) -> list[str]:
        """Of every request that the service got."""
        return [nonce_of(json.loads(one.body)) for one in self.bench.service.received(self.create)]

    def plays(self, *lines: str, **how: Any) -> None:
        """Every job from now on prints ``lines`` behind its proof."""
        self.bench.service.jobs.scenario = self.proven_job(*lines, **how)

    def entries(self) -> list[Entry]:
        return Ledger(self.bench.launch.home).jobs()


@pytest.fixture(params=["sagemaker", "vertex"])
def cloud(request: pytest.FixtureRequest, launch: Launch) -> Iterator[Cloud]:
    if request.param == "sagemaker":
        made, create, training = sagemaker.bench(launch), "CreateTrainingJob", "Training"
        proven_job: Callable[..., Any] = sagemaker.proven_job
    else:
        made, create, training = vertex.bench(launch), "customJobs.create", "RUNNING"  # type: ignore[assignment]
        proven_job = vertex.proven_job
    yield Cloud(next(made), create, proven_job, training)
    next(made, None)


def shown(*answers: Answer) -> str:
    return "".join(answer.out + answer.err for answer in answers)


def test_a_real_nonce_is_sent_and_kept_and_never_shown(cloud: Cloud):
    tried = cloud.bench
    printed = tried.submit("--dry-run")
    assert nonce_of(json.loads(printed.out)) == nonce.PLACEHOLDER
    assert not cloud.entries()

    answer = tried.submit("--json")
    assert answer.code == 0, answer.err
    (drawn,) = cloud.nonces()
    assert re.fullmatch(nonce.FORM, drawn)
    (entry,) = cloud.entries()
    assert entry.nonce == drawn
    assert nonce_of(json.loads(entry.definition)) == nonce.PLACEHOLDER
    assert Ledger(tried.launch.home).path.stat().st_mode & 0o077 == 0

    verbs = (("status", "train"), ("status", "train", "--json"), ("list", "--json"))
    verbs += (("logs", "train"), ("logs", "train", "--json"), ("wait", "train", "--json"))  # type: ignore[assignment]
    told = shown(answer, *(tried.ask(*words) for words in verbs), tried.submit("--dry-run"))
    assert drawn not in told
    assert nonce.stamp_of(drawn) not in told, "a person does not need the stamp"
    assert "launch: proof: world size 8" in told


def test_a_script_that_prints_its_document_has_it_masked(cloud: Cloud):
    tried = cloud.bench

    def document_is_printed(_: object) -> None:
        (drawn,) = cloud.nonces()
        cloud.plays(f"LAUNCH_NONCE={drawn}")

    tried.service.faults.add(Call(document_is_printed), cloud.create, point=READ, times=1)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert "LAUNCH_NONCE=***" in answer.out
    assert cloud.nonces()[0] not in shown(answer, tried.ask("logs", "train"))


@pytest.mark.parametrize("point", [READ, HANDLED])
def test_an_intent_that_is_taken_up_after_a_kill_sends_the_same_bytes(cloud: Cloud, point: Any):
    tried = cloud.bench

    def kill(_: object) -> None:
        process.kill()

    tried.service.faults.add(Call(kill), cloud.create, point=point, times=1)
    process = tried.launch.start(*tried.words(), **tried.environment())
    process.communicate(timeout=120)
    (begun,) = cloud.entries()
    answer = tried.submit()
    assert answer.code == 0, answer.err
    bodies = [json.loads(one.body) for one in tried.service.received(cloud.create)]
    assert all(body == bodies[0] for body in bodies)
    assert len(tried.service.jobs) == 1
    (entry,) = cloud.entries()
    assert set(cloud.nonces()) == {entry.nonce} == {begun.nonce}


def test_another_run_draws_another(cloud: Cloud):
    tried = cloud.bench
    assert tried.submit().code == 0
    assert tried.submit("--again").code == 0
    first, second = cloud.nonces()
    assert first != second
    names = [entry.name for entry in cloud.entries()]
    assert {name.rpartition("-")[0] for name in names} == {names[0].rpartition("-")[0]}, (
        "it is no part of the digest"
    )


def test_the_log_of_another_run_proves_nothing(cloud: Cloud):
    tried = cloud.bench
    assert tried.submit().code == 0
    (drawn,) = cloud.nonces()
    stamp, proof = nonce.stamp_of(drawn), "world size 8: 2 hosts x 4 ranks, "
    (lines,) = (list(one) for one in cloud.proven_job().lines.values())
    assert proof in lines[0]
    cloud.plays(stamps=False)
    scenario = tried.service.jobs.scenario
    (host,) = scenario.lines
    replayed = replace(scenario, lines={host: [f"{lines[0]} [{stamp}]"]})
    tried.service.jobs.scenario = replayed
    answer = tried.submit("--again")
    assert answer.code == 1
    assert "not proven" in answer.err
    assert "without this job's stamp" in answer.err


def test_what_a_script_prints_of_failures_and_proofs_changes_nothing(cloud: Cloud):
    tried = cloud.bench
    scenario = cloud.proven_job()
    (host,), (lines,) = list(scenario.lines), list(scenario.lines.values())
    tag = "[1,5]<stdout>:" if host == "algo-1" else "[host-2/5] "
    forged = [
        f"{lines[0].partition('launch')[0]}launch: proof: world size 4: 2 hosts x 2 ranks, MPI",
        f'{tag}launch: failure: {{"rank": 7, "host": "host-9", "reason": "\\u001b[31mboom"}}',
    ]

    def with_true_proof(_: object) -> None:
        (drawn,) = cloud.nonces()
        true = f"{lines[0]} [{nonce.stamp_of(drawn)}]"
        own = {host: [*forged, true, *forged]}
        tried.service.jobs.scenario = replace(scenario, stamps=False, lines=own)

    tried.service.faults.add(Call(with_true_proof), cloud.create, point=READ, times=1)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert "world size 8: 2 hosts x 4 ranks" in answer.err
    assert "host-9 failed first" not in answer.err


def test_a_job_from_elsewhere_is_judged_by_the_nonce_that_its_service_tells(
    cloud: Cloud, tmp_path: Path
):
    tried = cloud.bench
    assert tried.submit().code == 0
    (job,) = tried.service.jobs
    name = job.name if cloud.create == "CreateTrainingJob" else job.id
    provider = "sagemaker" if cloud.create == "CreateTrainingJob" else "vertex"
    region = "us-east-1" if provider == "sagemaker" else "us-central1"
    other = replace(tried, launch=Launch(tmp_path, tried.launch.folder))
    answer = other.ask("wait", f"{provider}:{name}", "--region", region)
    assert answer.code == 0, answer.err
    assert "carries no nonce" not in answer.err


def test_a_job_that_waits_is_told_without_it(cloud: Cloud):
    cloud.plays(paces={cloud.training: BY_HAND})
    answer = cloud.bench.submit("--detach", "--json")
    assert answer.code == 0, answer.err
    assert cloud.nonces()[0] not in shown(answer, cloud.bench.ask("status", "train", "--json"))


def test_a_ledger_of_an_older_launcher_is_read_and_used(tmp_path: Path):
    import sqlite3

    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.executescript(
            "CREATE TABLE jobs (name TEXT NOT NULL, provider TEXT NOT NULL, base TEXT NOT NULL,"
            " run INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',"
            " proof TEXT NOT NULL DEFAULT '', world_size INTEGER NOT NULL, created REAL NOT NULL,"
            " ended REAL, checkpoint TEXT NOT NULL DEFAULT '', definition TEXT NOT NULL,"
            " details TEXT NOT NULL, PRIMARY KEY (provider, name));"
            "INSERT INTO jobs VALUES ('a-1', 'local', 'a', 1, 'running', '', '', 2, 1.0, NULL, '',"
            " '{}', '{}');"
        )
    (tmp_path / "ledger.db").chmod(0o644)
    ledger = Ledger(tmp_path)
    (old,) = ledger.jobs()
    assert (old.name, old.nonce) == ("a-1", "")
    assert ledger.path.stat().st_mode & 0o077 == 0, "it holds nonces from now on"
    ledger.add(replace(old, name="a-2", run=2, nonce="0" * 32))
    assert [entry.nonce for entry in Ledger(tmp_path).runs("local", "a")] == ["", "0" * 32]

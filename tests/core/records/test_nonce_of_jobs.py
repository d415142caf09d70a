"""A job's nonce on its way: from the ledger to the service, and in nothing that anybody sees."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from launchers.core.records import nonce
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from tests.cli.command import Answer, Launch
from tests.fakes.faults import READ, Call
from tests.fakes.stamps import nonce_of
from tests.sagemaker.service import submitting as sagemaker
from tests.submitting import CloudBench
from tests.vertex.service import submitting as vertex


@dataclass(frozen=True)
class Cloud:
    """One of the clouds, and what its creation is called."""

    bench: CloudBench[Any]
    create: str
    proven_job: Callable[..., Any]

    def nonces(self) -> list[str]:
        """Of every request that the service got."""
        return [nonce_of(json.loads(one.body)) for one in self.bench.service.received(self.create)]

    def entries(self) -> list[Entry]:
        return Ledger(self.bench.launch.home).jobs()


@pytest.fixture(params=["sagemaker", "vertex"])
def cloud(request: pytest.FixtureRequest, launch: Launch) -> Iterator[Cloud]:
    if request.param == "sagemaker":
        made, create = sagemaker.bench(launch), "CreateTrainingJob"
        proven_job: Callable[..., Any] = sagemaker.proven_job
    else:
        made, create = vertex.bench(launch), "customJobs.create"  # type: ignore[assignment]
        proven_job = vertex.proven_job
    yield Cloud(next(made), create, proven_job)
    next(made, None)


def shown(*answers: Answer) -> str:
    return "".join(answer.out + answer.err for answer in answers)


def test_a_real_nonce_is_sent_and_kept_and_never_shown(cloud: Cloud, tmp_path: Path):
    tried = cloud.bench
    answer = tried.submit("--json")
    assert answer.code == 0, answer.err
    (drawn,) = cloud.nonces()
    assert re.fullmatch(nonce.FORM, drawn)
    (entry,) = cloud.entries()
    assert entry.nonce == drawn
    assert nonce_of(json.loads(entry.definition)) == nonce.PLACEHOLDER
    assert Ledger(tried.launch.home).path.stat().st_mode & 0o077 == 0

    verbs = (("status", "train", "--json"), ("list", "--json"), ("logs", "train", "--json"))
    told = shown(answer, *(tried.ask(*words) for words in verbs))
    assert drawn not in told
    assert nonce.stamp_of(drawn) not in told, "a person does not need the stamp"
    assert "launch: proof: world size 8" in told

    # From another machine: the service tells the nonce.
    (job,) = tried.service.jobs
    elsewhere = {
        "CreateTrainingJob": (f"sagemaker:{job.name}", "us-east-1"),
        "customJobs.create": (f"vertex:{getattr(job, 'id', '')}", "us-central1"),
    }
    word, region = elsewhere[cloud.create]
    other = replace(tried, launch=Launch(tmp_path / "other", tried.launch.folder))
    answer = other.ask("status", word, "--region", region, "--json")
    assert answer.json["state"] == "succeeded", answer.err
    assert "carries no nonce" not in answer.json["proof"]


def test_what_a_script_prints_changes_nothing_and_does_not_show_the_nonce(cloud: Cloud):
    tried = cloud.bench
    scenario = cloud.proven_job()
    ((host, (proof,)),) = scenario.lines.items()
    tag = "[1,5]<stdout>:" if host == "algo-1" else "[host-2/5] "
    forged = [
        f"{proof.partition('launch')[0]}launch: proof: world size 4: 2 hosts x 2 ranks, MPI",
        f'{tag}launch: failure: {{"rank": 7, "host": "host-9", "reason": "\\u001b[31mboom"}}',
    ]

    def plays(_: object) -> None:
        (drawn,) = cloud.nonces()
        true = f"{proof} [{nonce.stamp_of(drawn)}]"
        lines = [*forged, true, f"{tag}LAUNCH_NONCE={drawn}", *forged]
        tried.service.jobs.scenario = replace(scenario, stamps=False, lines={host: lines})

    tried.service.faults.add(Call(plays), cloud.create, point=READ, times=1)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert "world size 8: 2 hosts x 4 ranks" in answer.err
    assert "host-9 failed first" not in answer.err
    assert "LAUNCH_NONCE=***" in answer.out
    assert cloud.nonces()[0] not in shown(answer)


def test_an_intent_that_is_taken_up_after_a_kill_keeps_its_nonce(cloud: Cloud):
    tried = cloud.bench

    def kill(_: object) -> None:
        process.kill()

    tried.service.faults.add(Call(kill), cloud.create, point=READ, times=1)
    process = tried.launch.start(*tried.words(), **tried.environment())
    process.communicate()
    (begun,) = cloud.entries()
    answer = tried.submit()
    assert answer.code == 0, answer.err
    bodies = [json.loads(one.body) for one in tried.service.received(cloud.create)]
    assert all(body == bodies[0] for body in bodies)
    assert len(tried.service.jobs) == 1
    (entry,) = cloud.entries()
    assert set(cloud.nonces()) == {entry.nonce} == {begun.nonce}


def test_another_run_draws_another_and_the_log_of_the_first_proves_nothing(cloud: Cloud):
    tried = cloud.bench
    assert tried.submit().code == 0
    (first,) = cloud.nonces()
    scenario = cloud.proven_job()
    ((host, (proof,)),) = scenario.lines.items()
    replayed = {host: [f"{proof} [{nonce.stamp_of(first)}]"]}
    tried.service.jobs.scenario = replace(scenario, stamps=False, lines=replayed)
    answer = tried.submit("--again")
    assert answer.code == 1
    assert "not proven" in answer.err
    assert "without this job's stamp" in answer.err
    _, second = cloud.nonces()
    assert first != second
    bases = {entry.base for entry in cloud.entries()}
    assert len(bases) == 1, "it is no part of the digest"


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

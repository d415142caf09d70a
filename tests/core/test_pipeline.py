"""The one way from a JobSpec to a started job, with a provider in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from launchers.core import pipeline
from launchers.core.model.jobs import FAILED, PENDING, SUCCEEDED, JobStatus
from launchers.core.model.problems import (
    InDoubtError,
    LaunchError,
    NameTakenError,
    PassingError,
    Problem,
    errors,
)
from launchers.core.pipeline import Prepared, prepare, submit
from launchers.core.provider import Provider
from launchers.core.records import nonce
from launchers.core.records.entry import INTENT
from launchers.core.records.ledger import Ledger
from launchers.core.spec.job import JobSpec
from tests.core.in_memory import MemoryDefiner, MemoryService, memory_provider, script
from tests.refusals import refused

BAD = Problem("--x", "wrong", "right", rule="x")
LATER = Problem("$.y", "wrong", "right", rule="y")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def job(home: Path) -> JobSpec:
    return JobSpec(script=str(script(home / "source")), bucket="b")


def service_of(provider: Provider) -> MemoryService:
    assert isinstance(provider.service, MemoryService)
    return provider.service


def definer_of(provider: Provider) -> MemoryDefiner:
    assert isinstance(provider.definer, MemoryDefiner)
    return provider.definer


def run(provider: Provider, job: JobSpec, again: bool = False) -> Prepared:
    """Prepares and starts ``job``."""
    prepared = prepare(provider, job, again, online=True)
    submit(provider, prepared)
    return prepared


def ended(name: str, state: str, checkpoint: str | None = None) -> None:
    """The ledger learns how a job ended."""
    entry = Ledger().get("memory", name)
    assert entry is not None
    Ledger().update(entry, state=state, checkpoint=checkpoint or entry.checkpoint)


# --- the plan is made once


@pytest.mark.parametrize("online", [False, True])
def test_a_job_is_planned_once_and_its_source_read_once(
    job: JobSpec, monkeypatch: pytest.MonkeyPatch, online: bool
):
    read: list[JobSpec] = []

    def counted(one: JobSpec, told: object) -> object:
        read.append(one)
        return read_source(one, told)

    read_source = pipeline.read_source
    monkeypatch.setattr(pipeline, "read_source", counted)
    provider = memory_provider()
    prepare(provider, job, online=online)
    assert definer_of(provider).plans == len(read) == 1
    assert service_of(provider).resolved == online


def test_what_the_account_says_is_in_plan_and_document(home: Path):
    job = JobSpec(script=str(script(home / "source")))
    dry, sent = prepare(memory_provider(), job), prepare(memory_provider(), job, online=True)
    assert dry.definition.document["bucket"] == "placeholder-bucket"
    assert dry.definition.placeholders[0].path == "bucket"
    assert sent.definition.document["bucket"] == "mine"
    assert sent.plan.checkpoints == f"mem://mine/{sent.definition.name}"
    assert sent.definition.name == dry.definition.name


def test_the_name_is_in_the_document_and_no_part_of_its_digest(job: JobSpec):
    first = prepare(memory_provider(), replace(job, name="one"))
    second = prepare(memory_provider(), replace(job, name="two"))
    assert first.definition.document["environment"]["LAUNCH_JOB"] == first.definition.name
    assert first.run.digest == second.run.digest
    assert (first.definition.name, second.definition.name) == (
        f"one-{first.run.digest}-1",
        f"two-{first.run.digest}-1",
    )


def test_an_edited_script_is_another_job_in_the_same_process(home: Path):
    path = script(home / "source")
    job, provider = JobSpec(script=str(path), bucket="b"), memory_provider()
    first = run(provider, job)
    path.write_text(path.read_text() + "print('edited')\n")
    second = run(provider, job)
    assert second.bundle.sha256 != first.bundle.sha256
    assert second.definition.name != first.definition.name
    assert second.definition.text != first.definition.text
    for prepared, edited in ((first, False), (second, True)):
        tar = service_of(provider).jobs[prepared.definition.name].tar
        assert hashlib.sha256(tar).hexdigest() == prepared.bundle.sha256
        assert (b"print('edited')" in tar) is edited


def test_a_script_that_is_edited_between_plan_and_sending_is_not_sent(home: Path):
    path = script(home / "source")
    provider = memory_provider()
    prepared = prepare(provider, JobSpec(script=str(path), bucket="b"))
    path.write_text("print('edited')\n")
    with refused("source-changed", "changed"):
        submit(provider, prepared)
    assert not service_of(provider).jobs


def test_the_source_of_another_job_of_a_sweep_is_used_as_it_was_read(job: JobSpec):
    first = prepare(memory_provider(), job)
    assert job.script
    Path(job.script).write_text("print('edited')\n")
    other = replace(job, arguments=("--lr", "1"))
    second = prepare(memory_provider(), other, source=first.plan.source)
    assert second.bundle is first.bundle


# --- what stops a job


def test_errors_of_flags_are_said_with_those_of_the_document(job: JobSpec):
    provider = memory_provider()
    definer_of(provider).flag_problems = [BAD]
    definer_of(provider).document_problems = [LATER]
    definer_of(provider).knock_on_errors = {"other": "."}  # type: ignore[misc]
    with pytest.raises(LaunchError) as caught:
        prepare(provider, job, online=True)
    assert caught.value.problems == (BAD, LATER)
    assert not service_of(provider).resolved, "asked although the request is wrong"


@pytest.mark.parametrize("travels", [True, False])
def test_what_a_bundle_may_not_hold_stops_only_a_source_that_travels(home: Path, travels: bool):
    path = script(home / "source")
    (home / "source" / "key.py").write_text(f"key = '{'AKIA' + 'IOSFODNN7EXAMPL3'}'\n")
    job = JobSpec(script=str(path), bucket="b")
    provider = memory_provider(sends_source=travels)
    if travels:
        with pytest.raises(LaunchError, match=r"key\.py"):
            prepare(provider, job)
    else:
        assert not errors(prepare(provider, job).problems)


@pytest.mark.parametrize("travels", [True, False])
def test_a_value_that_is_no_utf_8_stops_only_a_job_that_is_sent(job: JobSpec, travels: bool):
    provider = memory_provider(sends_source=travels)
    prepared = prepare(provider, replace(job, environment={"A": "\udcff"}))
    found = [problem.path for problem in errors(prepared.problems)]
    assert found == (["$.environment.A"] if travels else [])


def test_a_document_with_errors_is_shown_and_not_sent(job: JobSpec):
    provider = memory_provider()
    definer_of(provider).document_problems = [LATER]
    prepared = prepare(provider, job)
    assert prepared.problems == (LATER,)
    with pytest.raises(LaunchError, match="wrong"):
        submit(provider, prepared)


def test_a_placeholder_that_is_left_is_not_sent(home: Path):
    provider = memory_provider()
    with refused("placeholder-left", "placeholder-bucket"):
        submit(provider, prepare(provider, JobSpec(script=str(script(home / "source")))))
    assert not service_of(provider).jobs


def test_a_refused_preflight_sends_nothing_and_its_warnings_are_passed_on(job: JobSpec):
    provider, heard = memory_provider(), []
    service_of(provider).answers = [replace(LATER, severity="warning"), BAD]
    with pytest.raises(LaunchError) as caught:
        submit(provider, prepare(provider, job), warn=heard.append)
    assert caught.value.exit_code == provider.service.preflight_exit
    assert caught.value.problems == (BAD,)
    assert heard == [replace(LATER, severity="warning")]
    assert not Ledger().get("memory", prepare(provider, job).definition.name)


# --- the ledger and the sending


def test_what_is_sent_is_the_document_with_its_own_nonce_and_the_ledger_knows_it(job: JobSpec):
    provider = memory_provider()
    prepared = run(provider, job)
    entry = Ledger().get("memory", prepared.definition.name)
    assert entry is not None
    assert (entry.state, entry.run, entry.base) == (PENDING, 1, prepared.run.base)
    assert entry.details == {"region": "here", "id": 1}
    assert entry.checkpoint == prepared.plan.checkpoints
    sent = service_of(provider).jobs[prepared.definition.name].document
    assert sent["environment"].pop(nonce.VARIABLE) == entry.nonce
    printed = json.loads(prepared.definition.text)
    assert printed["environment"].pop(nonce.VARIABLE) == nonce.PLACEHOLDER
    assert sent == printed


@pytest.mark.parametrize("error", [InDoubtError, PassingError])
def test_an_intent_of_which_nobody_knows_whether_it_was_sent_is_taken_up_again(
    job: JobSpec, error: Callable[[Problem], Exception]
):
    provider = memory_provider()
    service_of(provider).fails = [error(BAD)]
    with pytest.raises(LaunchError):
        run(provider, job)
    again = prepare(provider, job, online=True)
    begun = Ledger().get("memory", again.definition.name)
    assert begun is not None
    assert (begun.state, again.run.number) == (INTENT, 1)
    assert "taken up again" in again.run.why
    submit(provider, again)
    sent = service_of(provider).jobs[again.definition.name].document
    assert sent["environment"][nonce.VARIABLE] == begun.nonce, "another nonce than the first time"


def test_a_refusal_is_kept_as_a_failed_run_and_the_next_one_is_taken(job: JobSpec):
    provider = memory_provider()
    service_of(provider).fails = [LaunchError(BAD)]
    with pytest.raises(LaunchError):
        run(provider, job)
    following = prepare(provider, job, online=True)
    assert following.run.number == 2
    assert "since run 1 is failed: --x: wrong" in following.run.why
    assert (following.plan.rows[-1].label, following.plan.rows[-1].text) == ("run", "2")


def test_a_name_that_somebody_else_has_is_no_run_of_ours(job: JobSpec):
    provider = memory_provider()
    service_of(provider).fails = [NameTakenError(BAD)]
    with pytest.raises(NameTakenError):
        run(provider, job)
    assert prepare(provider, job).run.number == 1


def test_where_nothing_is_paid_a_taken_name_is_passed_by(job: JobSpec):
    provider = memory_provider(paid=False)
    prepared = prepare(provider, job)
    service_of(provider).fails = [NameTakenError(BAD)]
    service_of(provider).names.add(prepared.definition.name)
    handle = submit(provider, prepared)
    assert handle.name == f"{prepared.run.base}-2"
    sent = service_of(provider).jobs[handle.name].document
    assert sent["environment"]["LAUNCH_JOB"] == handle.name
    assert definer_of(provider).plans == 1


def test_where_nothing_is_paid_a_second_launcher_takes_the_next_name(job: JobSpec):
    provider = memory_provider(paid=False)
    one, other = prepare(provider, job), prepare(provider, job)
    assert one.definition.name == other.definition.name
    names = [submit(provider, prepared).name for prepared in (one, other)]
    assert names == [f"{one.run.base}-1", f"{one.run.base}-2"]


# --- which run


@pytest.mark.parametrize("state", [PENDING, SUCCEEDED])
def test_a_run_that_is_in_progress_or_has_succeeded_makes_another_needless(
    job: JobSpec, state: str
):
    provider = memory_provider()
    first = run(provider, job)
    ended(first.definition.name, state)
    second = prepare(provider, job)
    assert second.definition.name == first.definition.name
    assert second.run.existing is not None
    again = prepare(provider, job, again=True)
    assert (again.run.number, again.run.existing) == (2, None)
    assert again.run.why == f"--again; run 1: {state}"
    submit(provider, again)
    assert list(service_of(provider).jobs) == [f"{first.run.base}-1", f"{first.run.base}-2"]


def test_the_provider_is_asked_for_the_state_of_a_run_only_online(job: JobSpec):
    provider = memory_provider()
    first = run(provider, job)
    service_of(provider).states[first.definition.name] = JobStatus(FAILED, "no memory")
    assert prepare(provider, job).run.existing is not None
    found = prepare(provider, job, online=True).run
    assert (found.number, found.existing) == (2, None)
    assert found.why == "since run 1 is failed: no memory"


def test_of_several_runs_it_is_asked_for_the_last(job: JobSpec):
    provider = memory_provider()
    first = run(provider, job)
    ended(first.definition.name, SUCCEEDED)
    second = run(provider, job, again=True)
    service_of(provider).states[second.definition.name] = JobStatus(FAILED, "no memory")
    found = prepare(provider, job, online=True).run
    assert (found.number, found.why) == (3, "since run 2 is failed: no memory")


def test_a_run_after_one_without_success_goes_on_from_its_checkpoints(job: JobSpec):
    provider = memory_provider()
    first = run(provider, job)
    ended(first.definition.name, FAILED, "mem://kept")
    second = prepare(provider, job)
    assert second.plan.checkpoints == "mem://kept"
    assert second.definition.document["environment"]["LAUNCH_CHECKPOINT_DIR"] == "mem://kept"
    (row,) = [row for row in second.plan.rows if row.label == "checkpoints"]
    assert (row.text, row.origin) == ("mem://kept", f"kept from {first.definition.name}")
    own = prepare(provider, replace(job, checkpoint="mem://own"))
    assert own.plan.checkpoints == "mem://own"
    assert own.run.inherited is None


def test_a_run_after_a_success_begins_with_an_empty_folder(job: JobSpec):
    provider = memory_provider()
    first = run(provider, job)
    ended(first.definition.name, SUCCEEDED, "mem://kept")
    second = prepare(provider, job, again=True)
    assert second.plan.checkpoints == f"mem://b/{second.definition.name}"


def test_again_takes_the_first_number_that_neither_ledger_nor_service_knows(job: JobSpec):
    provider = memory_provider()
    first = run(provider, job)
    service_of(provider).names |= {f"{first.run.base}-2", f"{first.run.base}-3"}
    assert prepare(provider, job, again=True).run.number == 2, "a dry run asked the service"
    assert prepare(provider, job, again=True, online=True).run.number == 4

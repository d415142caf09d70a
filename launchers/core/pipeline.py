"""The one way from a JobSpec to a started job. Every verb and every provider goes through here:

plan -> name -> render -> check -> (print | rehearse | preflight -> ledger -> submit)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from launchers.core.job import JobSpec
from launchers.core.ledger import Entry, Ledger, inherited_checkpoint, next_run
from launchers.core.naming import job_base, job_name
from launchers.core.plan import Plan
from launchers.core.problems import LaunchError, Problem, errors
from launchers.core.provider import PENDING, JobDefinition, JobHandle, Provider
from launchers.core.source import bundle_of
from launchers.core.source_bundle import SourceBundle


@dataclass(frozen=True)
class Prepared:
    """A job that is ready to be printed or started.

    Attributes:
        problems: Everything that the request breaks, warnings included.
    """

    job: JobSpec
    plan: Plan
    definition: JobDefinition
    bundle: SourceBundle
    problems: tuple[Problem, ...]


def prepare(provider: Provider, job: JobSpec) -> Prepared:
    """Plan, name, render and check ``job``. Reads files and the ledger; sends nothing.

    Raises:
        LaunchError: The plan itself has errors, so that there is no document; all of them.
    """
    draft = provider.plan(job)
    bundle = bundle_of(job)
    # A job that runs where its source lies is not stopped by what would stop a journey.
    travels = "bundle" in provider.capabilities
    bundle_problems = [
        problem for problem in bundle.problems if travels or problem.rule == "source.folder"
    ]
    early = [*draft.problems, *bundle_problems]
    if errors(early):
        raise LaunchError(early)
    base = job_base(job, provider.identity(provider.render(draft)), bundle.sha256)
    plan = provider.plan(_numbered(provider, job, base))
    definition = provider.render(plan)
    problems = [*plan.problems, *bundle_problems, *provider.check(definition)]
    return Prepared(plan.job, plan, definition, bundle, tuple(problems))


def _numbered(provider: Provider, job: JobSpec, base: str) -> JobSpec:
    """``job`` with its run number, and the checkpoints of the run before where that failed."""
    runs = Ledger().runs(provider.name, base)
    run = next_run(runs)
    previous = inherited_checkpoint(runs)
    if previous is not None and not job.checkpoint and previous.checkpoint:
        job = replace(job, checkpoint_of=previous.name, checkpoint_folder=previous.checkpoint)
    return replace(job, run=run, full_name=job_name(base, run))


def submit(
    provider: Provider,
    prepared: Prepared,
    ignored_sdks: tuple[str, ...] = (),
    warn: Callable[[Problem], None] = lambda problem: None,
) -> JobHandle:
    """Gate, preflight, write the intent into the ledger, start. May block.

    Args:
        ignored_sdks: Packages of ``--ignore-sdk``; the ledger keeps them.
        warn: Takes what does not stop the job.

    Raises:
        LaunchError: A rule is broken, an SDK does not serve, preflight refused, or the provider did.
    """
    if errors(prepared.problems):
        raise LaunchError(prepared.problems)
    if prepared.plan.features:
        from launchers.core.sdk_gate import require

        for finding in require(prepared.plan.features, ignore=ignored_sdks):
            warn(finding.as_problem())
    answers = provider.preflight(prepared.definition)
    if errors(answers):
        raise LaunchError(answers)
    for problem in answers:
        warn(problem)
    ledger = Ledger()
    definition = prepared.definition
    entry = Entry(
        name=definition.name,
        provider=provider.name,
        base=definition.name.rpartition("-")[0],
        run=prepared.job.run,
        world_size=definition.world_size,
        definition=definition.text,
        state=PENDING,
        created=time.time(),
        checkpoint=prepared.plan.environment["LAUNCH_CHECKPOINT_DIR"],
        details={"ignored_sdks": list(ignored_sdks)} if ignored_sdks else {},
    )
    ledger.add(entry)
    try:
        return provider.submit(definition, prepared.bundle)
    except LaunchError as error:
        ledger.update(entry, state="failed", reason=str(error).splitlines()[0])
        raise

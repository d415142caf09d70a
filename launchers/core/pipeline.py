"""The one way from a JobSpec to a started job. Every verb and every provider goes through here:

read -> plan -> (gate -> resolve) -> digest -> run and name -> render -> check
     -> (print | rehearse | preflight -> ledger -> submit)

A dry run leaves out gate and resolve, and is else the same. The source is read once and the plan
made once; both are handed along, so that what was planned is what is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from launchers.core.catalogue import RULES
from launchers.core.earlier import note_command, unlike_last
from launchers.core.model.jobs import PENDING, JobDefinition, JobHandle
from launchers.core.model.problems import (
    InDoubtError,
    LaunchError,
    NameTakenError,
    PassingError,
    Problem,
    errors,
)
from launchers.core.planning.origins import placed
from launchers.core.planning.plan import Plan
from launchers.core.provider import Provider
from launchers.core.records.entry import INTENT, Entry
from launchers.core.records.ledger import Ledger
from launchers.core.records.naming import Run, job_base
from launchers.core.records.nonce import filled, new_nonce, without_nonce
from launchers.core.rules.consequences import later_problems
from launchers.core.rules.texts import problems_in_texts
from launchers.core.runs import choose_run
from launchers.core.source.bundle import Progress, SourceBundle
from launchers.core.source.script import JobSource, read_source
from launchers.core.spec.job import JobSpec

# Of an intent's details, what says where its request goes.
_WHERE = ("account", "project", "region")


@dataclass(frozen=True)
class Prepared:
    """A job that is ready to be printed or started.

    Attributes:
        problems: Everything that the request breaks, warnings included.
    """

    plan: Plan
    definition: JobDefinition
    problems: tuple[Problem, ...]

    @property
    def job(self) -> JobSpec:
        """What its user asked for."""
        return self.plan.job

    @property
    def bundle(self) -> SourceBundle:
        """The source that travels."""
        return self.plan.source.bundle

    @property
    def run(self) -> Run:
        """Which run it is, and the earlier job that makes it needless, if one does."""
        return self.plan.run


def prepare(
    provider: Provider,
    job: JobSpec,
    again: bool = False,
    online: bool = False,
    ignored_sdks: tuple[str, ...] = (),
    source: JobSource | None = None,
    told: Progress | None = None,
    fresh: bool = False,
) -> Prepared:
    """Plan, name, render and check ``job``. Reads files and the ledger; sends nothing.

    Args:
        again: Take a new run although an earlier one makes it needless.
        online: Whether the provider may be asked, once the SDKs have passed the gate: for what
            only the account knows, and for the state of an earlier run. May block then.
        ignored_sdks: Packages of ``--ignore-sdk``.
        source: The job's source where it has been read already, as by another job of a sweep.
        told: Hears how much of a large source is read.
        fresh: Begin with no checkpoint of an earlier run that did not succeed.

    Raises:
        LaunchError: The plan itself has errors, so that there is no document to show; all of them,
            and those that the document would have besides. An SDK does not serve, or the account
            does not say what is needed.
    """
    source = source or read_source(job, told)
    plan = provider.definer.plan(job, source)
    # A mistake is told where it was made, which may be a file or a variable.
    plan = replace(plan, problems=tuple(placed(job, problem) for problem in plan.problems))
    # What would keep the source from travelling doesn't matter where it runs in its own folder.
    travels = provider.definer.sends_source
    bundle_problems = [
        problem for problem in source.bundle.problems if travels or problem.rule == "source-folder"
    ]
    _refuse(provider, plan, bundle_problems)
    if online:
        service = provider.service  # an SDK that is not there at all is told first, and once
        _gate(plan, ignored_sdks)
        plan = plan.with_account(service.resolve(plan))
        _refuse(provider, plan, bundle_problems)
    identity = provider.definer.identity(provider.definer.render(plan))
    base = job_base(job, identity, source.bundle.sha256)
    run = choose_run(provider, plan, base, again, online, fresh)
    plan = plan.with_run(replace(run, unlike=unlike_last(provider, plan, base, identity)))
    definition = provider.definer.render(plan)
    problems = (*plan.problems, *bundle_problems, *provider.definer.check(definition))
    problems += tuple(problems_in_texts(definition.document)) if travels else ()
    return Prepared(plan, definition, problems)


def _refuse(provider: Provider, plan: Plan, bundle_problems: list[Problem]) -> None:
    """Stops where there is an error already, with the errors that the document would have."""
    found = [*plan.problems, *bundle_problems]
    if errors(found):
        raise LaunchError([*found, *later_problems(provider, plan, found)])


def submit(
    provider: Provider,
    prepared: Prepared,
    ignored_sdks: tuple[str, ...] = (),
    warn: Callable[[Problem], None] = lambda problem: None,
    answered: Callable[[list[Problem]], None] | None = None,
) -> JobHandle:
    """Gate, preflight, write the intent into the ledger, start. May block.

    Args:
        ignored_sdks: Packages of ``--ignore-sdk``; the ledger keeps them.
        warn: Takes what does not stop the job.
        answered: Takes all answers of the preflight; without it ``warn`` takes them.

    A job that nobody charges for gets another run number than was planned where a second launcher
    starts the same job at the same moment; the handle has its name.

    Raises:
        LaunchError: A rule is broken, an SDK does not serve, preflight or the provider refused.
        InDoubtError: It is not known whether the provider took the job; the intent stays open.
    """
    if errors(prepared.problems):
        raise LaunchError(prepared.problems)
    left = _unfilled(prepared.definition)
    if left:
        raise LaunchError(left)
    for problem in _gate(prepared.plan, ignored_sdks):
        warn(problem)
    answers = provider.service.preflight(prepared.definition)
    if answered is not None:
        answered(answers)
    else:
        for problem in answers:
            if problem.severity in ("warning", "unknown"):
                warn(problem)
    if errors(answers):
        raise LaunchError(errors(answers), provider.service.preflight_exit)
    ledger = Ledger()
    prepared, entry = _entered(provider, prepared, ledger, ignored_sdks)
    note_command(provider, prepared.plan, entry)
    try:
        handle = _sent(provider, prepared, entry.nonce)
    except (InDoubtError, PassingError):
        # The same command again takes the intent up.
        raise
    except NameTakenError:
        # Not a run of ours that failed: the same command must not take the next number by itself.
        ledger.forget(entry)
        if provider.charges_money:
            raise
        renumbered = _renumbered(provider, prepared)
        return submit(provider, renumbered, ignored_sdks, warn, answered)
    except LaunchError as error:
        ledger.update(entry, state="failed", reason=str(error).splitlines()[0])
        raise
    if provider.charges_money:
        known = ledger.get(provider.name, entry.name) or entry
        ledger.update(entry, state=PENDING, details={**known.details, **handle.details})
    return handle


def _sent(provider: Provider, prepared: Prepared, nonce: str) -> JobHandle:
    """Start the job; the nonce is in what is sent alone."""
    try:
        return provider.service.submit(filled(prepared.definition, nonce), prepared.bundle)
    except LaunchError as error:
        raise without_nonce(error, nonce) from None


def _gate(plan: Plan, ignored: tuple[str, ...]) -> Iterable[Problem]:
    """What ``--ignore-sdk`` lets pass."""
    if not plan.features:
        return ()
    from launchers.core.sdk.gate import require

    return [finding.as_problem() for finding in require(plan.features, ignore=ignored)]


def _entered(
    provider: Provider, prepared: Prepared, ledger: Ledger, ignored_sdks: tuple[str, ...]
) -> tuple[Prepared, Entry]:
    """The entry of :func:`_intended`, under the next free name where another launcher has taken
    this one since the plan was made."""
    while True:
        try:
            return prepared, _intended(provider, prepared, ledger, ignored_sdks)
        except NameTakenError:
            # Where a job is paid for, it is one job, which both see through.
            if provider.charges_money:
                raise
            prepared = _renumbered(provider, prepared)


def _renumbered(provider: Provider, prepared: Prepared) -> Prepared:
    """The same request as the next run."""
    fresh = prepared.run.inherited is None
    base = prepared.run.base
    run = choose_run(provider, prepared.plan, base, again=False, online=False, fresh=fresh)
    plan = prepared.plan.with_run(run)
    return replace(prepared, plan=plan, definition=provider.definer.render(plan))


def _intended(
    provider: Provider, prepared: Prepared, ledger: Ledger, ignored_sdks: tuple[str, ...]
) -> Entry:
    """The ledger's entry of the job that is about to be sent; written now, unless it is there.
    The nonce is drawn with it."""
    definition = prepared.definition
    details: dict[str, object] = {**definition.destination}
    if ignored_sdks:
        details["ignored_sdks"] = list(ignored_sdks)
    entry = Entry(
        name=definition.name,
        provider=provider.name,
        base=prepared.run.base,
        run=prepared.run.number,
        world_size=definition.world_size,
        definition=definition.text,
        state=INTENT if provider.charges_money else PENDING,
        created=time.time(),
        checkpoint=prepared.plan.checkpoints,
        details=details,
        nonce=new_nonce(),
    )
    begun = ledger.get(provider.name, definition.name) if provider.charges_money else None
    if begun is not None and begun.state == INTENT:
        there = {key: begun.details[key] for key in _WHERE if key in begun.details}
        if "sent" in begun.details and any(details.get(key) != there[key] for key in there):
            raise LaunchError(_sent_elsewhere(begun))
        # Role, bucket and region may be others than at the first attempt; the nonce is not.
        begun = replace(begun, nonce=begun.nonce or entry.nonce)
        ledger.update(
            begun,
            definition=definition.text,
            checkpoint=entry.checkpoint,
            details={**begun.details, **details},
            nonce=begun.nonce,
        )
        return begun
    try:
        ledger.add(entry)
    except LaunchError:
        # Another launcher was quicker: it is one job, which both see through.
        known = ledger.get(provider.name, definition.name) if provider.charges_money else None
        if known is None:
            raise
        return known
    return entry


def _sent_elsewhere(begun: Entry) -> Problem:
    """A job of the intent may be there already, where this request does not go."""
    where = ", ".join(str(begun.details[key]) for key in _WHERE if begun.details.get(key))
    return RULES["intent-elsewhere"].at(
        begun.name, f"begun before in {where}, where it may have been sent"
    )


def _unfilled(definition: JobDefinition) -> list[Problem]:
    return [
        RULES["placeholder-left"].at(item.path, f"the placeholder {item.value}", item.fill)
        for item in definition.placeholders
        if not item.at_sending
    ]

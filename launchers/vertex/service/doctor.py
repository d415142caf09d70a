"""What a project says of itself before any job: who calls, the clock, and what a preflight asks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from launchers.core.cloud.errors import with_retries
from launchers.core.cloud.preflight import Check, answers_of
from launchers.core.doctor.checks import (
    ATTEMPTS,
    NO_NETWORK,
    OFFLINE,
    REQUEST_SECONDS,
    clock_finding,
)
from launchers.core.model.findings import Finding, finding, skipped, well
from launchers.core.model.problems import Problem
from launchers.vertex.catalogue import RULES
from launchers.vertex.planning.account import (
    KEY_FILE,
    PLACEHOLDER_PROJECT,
    Account,
    credentials_file,
    default_bucket,
    own_account,
)
from launchers.vertex.service.preflight import Questions
from launchers.vertex.service.quotas import enough, wanted
from launchers.vertex.service.session import GOOGLE_ERRORS, Session
from launchers.vertex.tables.machines import Machine, default_for, gpu_counts

_SIGN_IN = "gcloud auth application-default login"


def project_findings(known: Account, service_account: str, offline: bool) -> list[Finding]:
    """Everything that the project answers. Blocks for a few requests, one after the other.

    Args:
        service_account: That jobs are to run as; "" for the service's own.
    """
    session = _session(known)
    if offline:
        return _unasked(session, known, OFFLINE)
    try:
        clock = clock_finding(session.clock_skew(), "Google's")
    except GOOGLE_ERRORS as error:
        problem = RULES["cloud-unreachable"].at("network", session.message_of(error))
        return [finding(problem), *_unasked(session, known, NO_NETWORK)]
    try:
        identity = well("identity", _caller(session))
        known = _with_project(known, session)
    except GOOGLE_ERRORS as error:
        problem = session.credentials_problem(error)
        return [_no_identity(session, problem), clock, *_without_answers(known)]
    if known.project_is_placeholder:
        return [identity, clock, *_without_answers(known, "needs a project")]
    answers = _answers(_session(known), known, service_account)
    # Bad credentials take the place of every other answer.
    refused = [one for one in answers if one.rule == "cloud-credentials"]
    if refused:
        return [_no_identity(session, refused[0]), clock, *_without_answers(known)]
    return [
        identity,
        clock,
        *(finding(one, run=_command(one, known)) for one in answers if one.path != "quota"),
        *_quotas([one for one in answers if one.path == "quota"]),
    ]


def _session(known: Account) -> Session:
    return Session(known.project, known.location, REQUEST_SECONDS, ATTEMPTS)


def _with_project(known: Account, session: Session) -> Account:
    if not known.project_is_placeholder:
        return known
    return replace(known, project=session.own_project() or PLACEHOLDER_PROJECT)


def _caller(session: Session) -> str:
    caller = with_retries(session, session.caller)
    hint = own_account()
    if "@" in caller or not hint:
        return caller
    return f"{caller}; gcloud's own account is {hint}"


def _unasked(session: Session, known: Account, why: str) -> list[Finding]:
    """What can be said without the project."""
    file = os.environ.get(KEY_FILE) or str(credentials_file())
    if os.path.isfile(file):
        identity = skipped("identity", f"credentials of {file}: {why}")
    else:
        none = RULES["cloud-credentials"].at("identity", "none on this machine")
        identity = _no_identity(session, none)
    return [identity, *_without_answers(known, why)]


def _without_answers(known: Account, why: str = "needs an identity") -> list[Finding]:
    if known.project_is_placeholder:
        problem = RULES["project-missing"].at("project", "none")
        project = finding(problem, run="gcloud config set project PROJECT_ID")
    else:
        project = skipped("project", f"{known.project} ({known.project_origin}): {why}")
    return [project, skipped("bucket", why), skipped("quota", why)]


def _no_identity(session: Session, problem: Problem) -> Finding:
    """No credentials, or some that are not good any more."""
    return finding(replace(problem, fix=_how_to_sign_in(session)), "identity", run=_SIGN_IN)


def _how_to_sign_in(session: Session) -> str:
    file = os.environ.get(KEY_FILE)
    if file and not os.path.isfile(file):
        return f"{KEY_FILE} names {file}, which is not there: unset it, or name another"
    fix = session.how_to_renew() if file else session.sign_in
    return fix if shutil.which("gcloud") else f"{fix} (gcloud: Google Cloud CLI's installer)"


def _answers(session: Session, known: Account, service_account: str) -> list[Problem]:
    """The preflight's questions that need no job, and the quotas of the default machines."""
    about = {"jobSpec": {"serviceAccount": service_account}}
    questions = Questions(session, about)
    bucket = known.bucket
    if known.bucket_is_placeholder:
        bucket = default_bucket(known.project, known.location)
    checks: list[Check] = [
        questions.project,
        questions.service,
        _named("bucket", partial(questions.bucket_named, bucket)),
        questions.service_account,
        *(
            _named("quota", partial(_quota, session, metric, count))
            for metric, count in _of_default_machines().items()
        ),
    ]
    return answers_of(session, checks)


def _named(name: str, ask: Callable[[], list[Problem]]) -> Check:
    """A check whose name in the table is ``name``."""

    def check() -> list[Problem]:
        return ask()

    check.__doc__ = name
    return check


def _quota(session: Session, metric: str, count: int) -> list[Problem]:
    return [enough(session, metric, count)]


def _of_default_machines() -> dict[str, int]:
    """Metric -> what the smallest default machine that counts in it needs."""
    found: dict[str, int] = {}
    for gpus in gpu_counts():
        machine = default_for(gpus)
        for metric, count in wanted(_document(machine)).items() if machine else ():
            found[metric] = min(count, found.get(metric, count))
    return found


def _document(machine: Machine) -> dict[str, object]:
    spec: dict[str, object] = {"machineType": machine.name}
    if machine.accelerator:
        spec |= {"acceleratorType": machine.accelerator, "acceleratorCount": machine.gpus}
    return {"jobSpec": {"workerPoolSpecs": [{"machineSpec": spec, "replicaCount": 1}]}}


def _quotas(told: list[Problem]) -> list[Finding]:
    """A quota of 0 for machines that a user does not want stops nobody, one of 0 for all of them
    everybody."""
    if any(one.severity == "ok" for one in told):
        told = [
            replace(one, severity="warning") if one.severity == "error" else one for one in told
        ]
    return [finding(one) for one in told]


def _command(problem: Problem, known: Account) -> str:
    """The one command that mends it."""
    if problem.path == "bucket" and "does not exist" in problem.found:
        name = problem.found.partition(" ")[0]
        return (
            f"gcloud storage buckets create gs://{name} --project {known.project} "
            f"--location {known.location}"
        )
    return problem.fix if problem.fix.startswith("gcloud services enable") else ""

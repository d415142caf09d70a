"""`launch doctor`: every prerequisite with what was found, what is needed, and how to get there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.show.output import answer, say
from launchers.cli.verb import Verb
from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_OK, LaunchError, did_you_mean
from launchers.core.registry import DOCTORS

if TYPE_CHECKING:
    from launchers.cli.answers.doctor import DoctorAnswer, FindingAnswer
    from launchers.core.model.findings import Finding
    from launchers.core.prerequisites import Doctor
    from launchers.core.spec.job import JobSpec

_LAUNCHER = "launch"
_BUNDLE = "launch-doctor.zip"


@dataclass(frozen=True)
class Told:
    """What was found of one subject.

    Attributes:
        exit_code: Of a submission that one of its errors would stop.
    """

    subject: str
    title: str
    exit_code: int
    findings: list[Finding]


@click.command(
    "doctor",
    cls=Verb,
    examples=(
        "launch doctor",
        "launch doctor sagemaker --region eu-west-1",
    ),
    help="Look at every prerequisite of jobs before there is one: of this machine (local), of "
    "a Spark cluster, of Docker, of your account on SageMaker or Vertex AI. Without WHERE all of "
    "them, those that are set up. Changes nothing.",
)
@click.argument("where", nargs=-1, metavar="[local|spark|docker|sagemaker|vertex]")
@click.option("--offline", is_flag=True, help="Do not contact a cloud.")
@click.option("--region", "--location", metavar="REGION", help="The region to check.")
@click.option("--role", metavar="ARN", help="The role that SageMaker jobs are to run as.")
@click.option("--project", metavar="ID", help="The Google Cloud project.")
@click.option("--bucket", metavar="NAME", help="The bucket for code and models.")
@click.option(
    "--python", metavar="PATH", help="The Python of local ranks, and of a Spark job's driver."
)
@click.option("--master", metavar="URL", help="The master of Spark jobs.")
@click.option(
    "-f",
    "--file",
    metavar="FILE",
    help="Read the job from FILE instead of ./launch.yaml, if that exists.",
)
@click.option("-p", "--profile", metavar="NAME", help="A profile of launch.yaml.")
@click.option(
    "--bundle",
    is_flag=False,
    flag_value=_BUNDLE,
    metavar="[FILE]",
    help=f"Also write a file for a bug report, without secrets. Default: {_BUNDLE}",
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(
    where: tuple[str, ...],
    offline: bool,
    bundle: str | None,
    as_json: bool,
    file: str | None,
    profile: str | None,
    **asked: str | None,
) -> int:
    """Look, print, and give the code that a submission would have ended with."""
    if bundle in DOCTORS:  # `--bundle sagemaker`, a subject and no file
        where, bundle = (*where, bundle), _BUNDLE
    if bundle is not None and Path(bundle).suffix != ".zip":
        raise LaunchError(
            RULES["doctor-bundle"].at("--bundle", bundle[:80], fix=did_you_mean(bundle, DOCTORS))
        )
    subjects = _subjects(where)
    if bundle is not None:
        from launchers.core.doctor.bundle import refuse_another, write_bundle

        refuse_another(Path(bundle))
    if sys.stderr.isatty():
        say("looking, which takes some seconds")
    told = _looked(subjects, asked, {"file": file, "profile": profile}, offline, chosen=bool(where))
    code = _exit_code(told)
    report = _as_json(told, code)
    if bundle is not None:
        path = Path(bundle)
        inside = write_bundle(path, report, Path(file or "launch.yaml"))
        report["bundle"] = str(path)
        say(f"{path} has {', '.join(inside)}")
        say(
            "read it before you send it to anybody: it is yours, and names may say more than shapes"
        )
    if as_json:
        answer(report)
    else:
        _say(told, code)
    return code


def _subjects(where: tuple[str, ...]) -> list[str]:
    """Those that were asked for, in the table's order; all of them without a word."""
    problems = [
        RULES["doctor-subject"].at(
            "doctor", word, "one of " + ", ".join(DOCTORS), did_you_mean(word, DOCTORS)
        )
        for word in where
        if word not in DOCTORS
    ]
    if problems:
        raise LaunchError(problems)
    return [one for one in DOCTORS if one in where or not where]


def _looked(
    subjects: list[str],
    asked: Mapping[str, str | None],
    files: Mapping[str, str | None],
    offline: bool,
    chosen: bool,
) -> list[Told]:
    """Everything side by side, in the subjects' order."""
    from launchers.core.doctor import launcher
    from launchers.core.doctor.checks import each_of
    from launchers.core.registry import doctor

    file = Path(files["file"] or "") if files["file"] else None
    looks = launcher.checks(file)
    groups = [(Told(_LAUNCHER, launcher.TITLE, EXIT_BAD_REQUEST, []), len(looks))]
    for subject in subjects:
        one: Doctor = doctor(subject)
        job, found = _job(subject, asked, files)
        unused = "" if chosen or found else one.unused(job)
        own = [] if unused else one.checks(job, offline)
        told = Told(subject, one.title, one.exit_code, [_not_set_up(subject, unused)])
        groups.append((told if unused else replace(told, findings=found), len(own)))
        looks += own
    answers = iter(each_of(looks))
    for told, many in groups:
        for _ in range(many):
            told.findings.extend(next(answers))
    # What is wrong with launch.yaml is told once.
    first, *others = (told for told, _ in groups)
    return [first, *(replace(one, findings=_without(one.findings, first)) for one in others)]


def _not_set_up(subject: str, why: str) -> Finding:
    from launchers.core.model.findings import skipped

    return skipped(
        "set up", f"not set up here ({why}): `launch doctor {subject}` says what it takes"
    )


def _without(findings: list[Finding], told: Told) -> list[Finding]:
    known = {(one.name, one.found) for one in told.findings}
    return [one for one in findings if (one.name, one.found) not in known]


def _job(
    subject: str, asked: Mapping[str, str | None], files: Mapping[str, str | None]
) -> tuple[JobSpec, list[Finding]]:
    """What flags, variables and files say of a job there, and what is wrong with these.

    Raises:
        LaunchError: A flag is wrong.
    """
    from launchers.cli.options import given_job
    from launchers.core.model.findings import finding
    from launchers.core.registry import PROVIDERS, provider
    from launchers.core.spec.job import JobSpec

    if subject not in PROVIDERS:
        return JobSpec(), []
    there = provider(subject)
    flags: dict[str, Any] = {name: (value,) for name, value in asked.items() if value}
    try:
        given = given_job(there, {"words": (), "no_file": False, **files, **flags}, None, [])
        return given.job, [finding(one) for one in given.warnings]
    except LaunchError as error:
        if any(one.path.startswith("--") for one in error.problems):
            raise
        wrong = [finding(one, exit_code=EXIT_BAD_REQUEST) for one in error.problems]
    alone = {"words": (), "no_file": True, "no_defaults": True, **flags}
    try:
        return given_job(there, alone, None, []).job, wrong
    except LaunchError:  # of a variable, which is among those that are known
        return JobSpec(provider=subject, options=there.definer.options()), wrong


def _exit_code(told: list[Told]) -> int:
    """The first that a submission meets: the request and this machine, the SDKs, the account."""
    codes = [
        one.exit_code or group.exit_code
        for group in told
        for one in group.findings
        if one.state == "error"
    ]
    return min(codes, default=EXIT_OK)


def _as_json(told: list[Told], code: int) -> DoctorAnswer:
    findings = [_one_as_json(group.subject, one) for group in told for one in group.findings]
    return {"exit_code": code, "findings": findings, "bundle": None}


def _one_as_json(subject: str, one: Finding) -> FindingAnswer:
    from launchers.core.credentials.elsewhere import without_credentials

    return {
        "subject": subject,
        "name": one.name,
        "state": one.state,
        "found": without_credentials(one.found),
        "needed": without_credentials(one.needed),
        "fix": without_credentials(one.fix),
        "run": without_credentials(one.run),
        "rule": one.rule,
    }


def _say(told: list[Told], code: int) -> None:
    from launchers.cli.show.findings import say_findings, say_next

    for group in told:
        say_findings(group.title, group.findings)
    wrong = [one for group in told for one in group.findings if one.state == "error"]
    commands = dict.fromkeys(one.run for one in wrong if one.run)
    if commands:
        say_next(list(commands))
    if wrong:
        say(f"{len(wrong)} of these would stop a job")

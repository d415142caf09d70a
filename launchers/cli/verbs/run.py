"""The verb of a provider, `launch local` and its like: one command line to one followed job."""

from __future__ import annotations

from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion.values import one_of
from launchers.cli.jobs.rehearse import (
    given_options,
    refuse_without_docker,
    rehearsal_flags,
    rehearse_and_say,
    verbose_flag,
)
from launchers.cli.jobs.submission import start, submission_flags
from launchers.cli.options import BEHIND, file_flags, given_job, job_flags, script_argument
from launchers.cli.show.as_json import dry_run_as_json
from launchers.cli.show.output import (
    answer,
    print_documents,
    say,
    say_plan,
    say_problems,
)
from launchers.cli.show.progress import reading_shown
from launchers.cli.verb import Flag, Verb
from launchers.core import pipeline
from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_OK, LaunchError, Problem, errors
from launchers.core.provider import Provider
from launchers.core.registry import provider


def provider_command(name: str) -> click.Command:
    """The click command that starts jobs on the provider ``name``."""
    chosen = provider(name)
    parameters: list[click.Parameter] = [
        script_argument(),
        *job_flags(chosen),
        *file_flags(),
        Flag(
            ["--dry-run"],
            group="rehearsal",
            metavar="[=docker]" if chosen.contract else "",
            shell_complete=one_of(("docker",) if chosen.contract else ()),
            help=_dry_run_help(chosen),
        ),
        Flag(
            ["--format", "form"],
            group="output",
            rare=True,
            type=click.Choice(["json", "yaml"]),
            default="json",
            help="The document's form in a dry run.",
        ),
        Flag(
            ["--json", "as_json"],
            group="output",
            is_flag=True,
            help="The answer as JSON on stdout.",
        ),
        *submission_flags(chosen),
        *(rehearsal_flags() if chosen.contract is not None else []),
        verbose_flag(),
        Flag(["--detach"], group="output", is_flag=True, help="Start the job and return."),
    ]

    def callback(**values: Any) -> int:
        context = click.get_current_context()
        return _run(chosen, values, context.obj["arguments"])

    return Verb(
        name,
        callback=callback,
        params=parameters,
        help=chosen.about,
        examples=chosen.examples,
        behind=BEHIND,
        context_settings={"ignore_unknown_options": True, "max_content_width": 100},
    )


def _dry_run_help(chosen: Provider) -> str:
    printed = "Print the job definition and stop"
    if chosen.contract is None:
        return f"{printed}."
    return f"{printed}; =docker runs it in containers on this machine."


def _run(chosen: Provider, values: dict[str, Any], arguments: tuple[str, ...] | None) -> int:
    given = given_job(chosen, values, arguments, _own_flags())
    say_problems(given.warnings)
    mode = _mode(values["dry_run"])
    if mode != "docker":
        refuse_without_docker(values)
    if values["detach"] and values.get("cancel_on_interrupt"):
        raise LaunchError(
            RULES["flag-detach"].at("--detach", "together with --cancel-on-interrupt")
        )
    if values["as_json"] and values["form"] != "json":
        raise LaunchError(RULES["flag-form"].at("--format", f"{values['form']} beside --json"))
    again, ignored = bool(values.get("again")), tuple(values.get("ignore_sdk") or ())
    if given.sweep:
        from launchers.cli.jobs.sweep import run_sweep

        return run_sweep(chosen, given, values, mode)
    if values.get("max_parallel"):
        raise LaunchError(RULES["flag-sweep"].at("--max-parallel", "one job"))
    online = mode == "run" and chosen.charges_money
    prepared = pipeline.prepare(chosen, given.job, again, online, ignored, told=reading_shown)
    say_plan(prepared.plan, chosen.title, given.read_from, sends=mode == "run")
    if chosen.definer.sends_source:
        for line in prepared.bundle.left_out_summary():
            say(f"  left out  {line}")
    say_problems(p for p in prepared.problems if p not in prepared.plan.problems)
    if errors(prepared.problems):
        return EXIT_BAD_REQUEST
    if mode == "print":
        if chosen.definer.sends_source:
            size = f"{len(prepared.bundle.files)} files, {prepared.bundle.size / 1e6:.1f} MB"
            say(f"  not uploaded  the bundle ({size}): a dry run uploads nothing")
        same = chosen.definer.command_line(prepared.definition)
        if same:
            say(f"  the same  {same}")
        notes = _gate_notes(prepared.plan.features, ignored)
        say_problems(notes)
        if values["as_json"]:
            told = [*given.warnings, *prepared.problems, *notes]
            answer(dry_run_as_json(chosen, prepared, given.read_from, told))
        else:
            print_documents([prepared.definition], values["form"])
        return EXIT_OK
    if mode == "docker":
        from launchers.core.analysis.facts import facts_of

        options, facts = given_options(values), facts_of(prepared.plan.source)
        return rehearse_and_say(
            chosen,
            prepared.definition,
            prepared.bundle,
            options,
            values["as_json"],
            facts,
            values["verbose"],
        )
    return start(chosen, prepared, values)


def _own_flags() -> list[str]:
    """Every flag of the command that runs, for a "did you mean"."""
    return [flag for item in click.get_current_context().command.params for flag in item.opts]


def _gate_notes(features: frozenset[str], ignored: tuple[str, ...]) -> list[Problem]:
    """What a submission would say of the installed SDKs; nothing stops a dry run."""
    if not features:
        return []
    from launchers.core.sdk.gate import check

    findings = check(features, ignore=ignored, for_submission=False)
    return [finding.as_problem() for finding in findings]


def _mode(dry_run: str | None) -> str:
    if dry_run is None:
        return "run"
    if dry_run in ("print", "docker"):
        return dry_run
    raise LaunchError(RULES["flag-value"].at("--dry-run", dry_run, "--dry-run or --dry-run=docker"))

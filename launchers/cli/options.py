"""Flags from the job's dataclasses, and a JobSpec from flags, variables and files.

click only splits the words; values are parsed by their kind afterwards, so that every mistake of
a command line is reported at once and in the same words as those of launch.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, replace
from typing import Any

import click

from launchers.cli.completion.values import of_field, of_metavar, profiles
from launchers.cli.files import addresses_in_the_open, read_files
from launchers.cli.values import parsed_values, the_only
from launchers.cli.variables import from_variables
from launchers.cli.verb import Flag
from launchers.cli.words import Command, word_problems
from launchers.core.model.problems import LaunchError, Problem, errors
from launchers.core.provider import Provider
from launchers.core.spec.job import JobSpec, is_flag
from launchers.core.spec.layers import Layer, stacked
from launchers.core.spec.option import default_of, option_fields
from launchers.core.spec.targets import targets_of
from launchers.core.spec.value_types import Switch, ValueType

# Behind the flags of a command that takes a script.
BEHIND = "[-- SCRIPT'S ARGUMENTS]"
# Of variables, the plan's first line names so many.
MOST_NAMED = 3


@dataclass(frozen=True)
class Given:
    """What a command line, variables and files gave.

    Attributes:
        job: All of it in one, flags over variables over the files.
        read_from: ``from launch.yaml and flags``, for the plan's first line.
        sweep: The jobs of ``sweep:``, one each; empty where the file has none.
        warnings: What was said and is not taken.
    """

    job: JobSpec
    read_from: str
    sweep: tuple[JobSpec, ...] = ()
    warnings: tuple[Problem, ...] = ()


def script_argument() -> click.Argument:
    """SCRIPT: all words that are neither a flag nor a flag's value, for :func:`given_job`."""
    return click.Argument(
        ["words"],
        nargs=-1,
        type=click.UNPROCESSED,
        metavar="[SCRIPT]",
        shell_complete=of_metavar("SCRIPT"),
    )


def job_flags(provider: Provider) -> list[click.Option]:
    """The flags that describe a job on ``provider``, in the dataclasses' order."""
    definer = provider.definer
    items = option_fields(JobSpec, definer.unused) + option_fields(definer.options)
    return [_flag(provider, item, kind) for item, kind in items if item.metadata["flags"]]


def file_flags() -> list[click.Option]:
    """Which files are read for a job."""
    return [
        Flag(
            ["-f", "--file", "file"],
            group="what",
            multiple=True,
            default=None,
            callback=the_only,
            metavar="FILE",
            help="The job's file. Default: ./launch.yaml, if it is there.",
        ),
        Flag(["--no-file"], group="what", rare=True, is_flag=True, help="Read no launch.yaml."),
        Flag(
            ["-p", "--profile"],
            group="what",
            multiple=True,
            default=None,
            callback=the_only,
            metavar="NAME",
            help="A profile of launch.yaml.",
            shell_complete=profiles,
        ),
        Flag(
            ["--no-defaults"],
            group="what",
            rare=True,
            is_flag=True,
            help="Do not read your defaults.yaml.",
        ),
    ]


def _flag(provider: Provider, item: Field[Any], kind: ValueType) -> click.Option:
    said: dict[str, Any] = {name: item.metadata[name] for name in ("group", "rare", "help")}
    declarations = [*item.metadata["flags"], item.name]
    if isinstance(kind, Switch):
        return Flag(declarations, is_flag=True, default=None, **said)
    return Flag(
        declarations,
        multiple=True,  # Of two values, the first is not dropped without a word.
        default=None,
        told_default=default_of(item),
        metavar=item.metadata["metavar"] or "TEXT",
        shell_complete=of_field(provider, item, kind),
        **said,
    )


def given_job(
    provider: Provider,
    values: Mapping[str, Any],
    arguments: tuple[str, ...] | None,
    own_flags: list[str],
    command: Command | None = None,
) -> Given:
    """The JobSpec of one command line: flags over variables, over the files.

    Args:
        values: Raw values by field name, as click read them, None or () where not given; and
            ``words``: what was neither a flag of ours nor a flag's value (SCRIPT, or a mistake),
            ``file`` (``-f``), ``no_file``, ``no_defaults`` and ``profile``.
        arguments: What followed ``--``, or None where there was no ``--``.
        own_flags: Every flag of the command, for a "did you mean".
        command: Which one it is, where it is not `launch PROVIDER`.

    Raises:
        LaunchError: With every mistake of flags, words and variables; or of a file.
    """
    words: tuple[str, ...] = values["words"]
    verb = command.verb if command else provider.name
    problems = word_problems(provider, values, words, own_flags, command)
    flags = _parsed(provider, values, problems)
    variables, warnings = from_variables(provider, own_flags, problems)
    files = read_files(provider, values, warnings)
    if len(words) == 1:
        flags["script"] = words[0]
    if arguments is not None:
        flags["arguments"] = arguments
    typed = Layer(flags, {name: _flag_of(provider, name) for name in flags})
    problems += addresses_in_the_open(typed, *files.in_the_open)
    if problems:
        raise LaunchError(problems)
    jobs = [
        replace(_job(provider, stacked((*files.below, layer, variables, typed))), verb=verb)
        for layer in files.jobs
    ]
    warnings += _untold(jobs[0], sends=not values.get("dry_run"))
    read_from = _read_from(files.named, list(variables.origins.values()))
    return Given(jobs[0], read_from, tuple(jobs) if files.is_sweep else (), tuple(warnings))


def _job(provider: Provider, given: Layer) -> JobSpec:
    own = {item.name for item, _ in option_fields(provider.definer.options)}
    # Common keys of a file that this provider has no use for.
    unused = provider.definer.unused
    values = {name: value for name, value in given.values.items() if name not in unused}
    return JobSpec(
        provider=provider.name,
        options=provider.definer.options(**{name: values.pop(name) for name in own & {*values}}),
        origins={name: origin for name, origin in given.origins.items() if name not in unused},
        **values,
    )


def _untold(job: JobSpec, sends: bool) -> list[Problem]:
    """Warnings of those who cannot be told of the end; errors where they were just typed.

    Args:
        sends: There will be a job, and its end.

    Raises:
        LaunchError: With the errors.
    """
    if not job.notify:
        return []
    from launchers.core.notify.send import faults

    origin = job.origins.get("notify", "--notify")
    typed = is_flag(origin)
    place = origin if typed or origin.startswith("LAUNCH_") else f"{origin}: notify"
    found = faults(targets_of(job.notify), place, "error" if typed else "warning")
    if errors(found):
        raise LaunchError(found)
    return found if sends else []


def _flag_of(provider: Provider, name: str) -> str:
    """The flag of a field, as the plan names it."""
    for item, _ in option_fields(JobSpec) + option_fields(provider.definer.options):
        if item.name == name:
            return next((flag for flag in item.metadata["flags"] if flag[:2] == "--"), "--")
    return "--"


def _read_from(files: Sequence[str], variables: Sequence[str]) -> str:
    """``from launch.yaml, LAUNCH_SAGEMAKER_ROLE and flags``, for the plan's first line."""
    names = list(dict.fromkeys(variables))
    if len(names) > MOST_NAMED:
        names = [f"{len(names)} variables ({', '.join(names[: MOST_NAMED - 1])}, ...)"]
    return "from " + " and ".join(filter(None, (", ".join((*files, *names)), "flags")))


def _parsed(
    provider: Provider, values: Mapping[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item, kind in option_fields(JobSpec) + option_fields(provider.definer.options):
        raw = values.get(item.name)
        if raw is None or raw == ():
            continue
        flag = item.metadata["flags"][0]
        texts = raw if isinstance(raw, tuple) else (raw,)
        value = parsed_values(kind, flag, texts, problems)
        if value is not None:
            found[item.name] = value
    return found

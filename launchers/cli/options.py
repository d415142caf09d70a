"""Flags from the job's dataclasses, and a JobSpec from flags and launch.yaml.

click only splits the words; values are parsed by their kind afterwards, so that every mistake of
a command line is reported at once and in the same words as those of launch.yaml.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import Field, dataclass, replace
from pathlib import Path
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.values import parsed
from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.provider import Provider
from launchers.core.spec.job import JobSpec, merged, option_fields
from launchers.core.spec.value_types import Pairs, Switch, ValueType, Words

_PATHS = ("script", "source", "requirements")


@dataclass(frozen=True)
class Given:
    """What a command line and a file gave.

    Attributes:
        job: Both merged, flags over the file.
        read_from: ``launch.yaml and flags``, for the plan's first line.
        sweep: The jobs of ``sweep:``, one each; empty where the file has none.
    """

    job: JobSpec
    read_from: str
    sweep: tuple[JobSpec, ...] = ()


def job_flags(provider: Provider) -> list[click.Option]:
    """The flags that describe a job on ``provider``, in the dataclasses' order."""
    definer = provider.definer
    items = option_fields(JobSpec, definer.unused) + option_fields(definer.options)
    return [_flag(item, kind) for item, kind in items if item.metadata["flags"]]


def _flag(item: Field[Any], kind: ValueType) -> click.Option:
    declarations = [*item.metadata["flags"], item.name]
    if isinstance(kind, Switch):
        return click.Option(declarations, is_flag=True, default=None, help=item.metadata["help"])
    return click.Option(
        declarations,
        multiple=True,  # Of two values, the first is not dropped without a word.
        default=None,
        metavar=item.metadata["metavar"] or "TEXT",
        help=item.metadata["help"],
    )


def given_job(
    provider: Provider,
    values: Mapping[str, Any],
    arguments: tuple[str, ...] | None,
    own_flags: list[str],
) -> Given:
    """The JobSpec of one command line.

    Args:
        values: Raw values by field name, as click read them, None or () where not given; and
            ``words``: what was neither a flag of ours nor a flag's value (SCRIPT, or a mistake),
            ``file`` (``-f``) and ``no_file``.
        arguments: What followed ``--``, or None where there was no ``--``.
        own_flags: Every flag of the command, for a "did you mean".

    Raises:
        LaunchError: With every mistake of flags and words; or of the file.
    """
    words: tuple[str, ...] = values["words"]
    problems = _word_problems(provider, values, words, own_flags)
    flags = _parsed(provider, values, problems)
    from_file, read_from = _from_file(values["file"], values["no_file"])
    if problems:
        raise LaunchError(problems)
    if len(words) == 1:
        flags["script"] = words[0]
    if arguments is not None:
        flags["arguments"] = arguments
    entries = from_file.pop("sweep", None)
    jobs = [_job(provider, one, flags, read_from) for one in (entries or [from_file])]
    return Given(jobs[0], read_from, tuple(jobs) if entries else ())


def _job(
    provider: Provider, from_file: dict[str, Any], flags: Mapping[str, Any], read_from: str
) -> JobSpec:
    """A file's values with the flags on top.

    Args:
        read_from: Which file that is, in the plan's words.
    """
    sections = from_file.pop(provider.name, {})
    from_file = {
        name: value for name, value in from_file.items() if not isinstance(value, _Section)
    }
    # What runs is one thing: of a file's and a flag's, the flag's.
    for given, other in (("script", "module"), ("module", "script")):
        if given in flags:
            from_file.pop(other, None)
    own = {item.name for item, _ in option_fields(provider.definer.options)}
    common = merged(from_file, {name: value for name, value in flags.items() if name not in own})
    special = merged(sections, {name: value for name, value in flags.items() if name in own})
    origin = read_from.removeprefix("from ").removesuffix(" and flags")
    origins = {name: origin for name in (*from_file, *sections) if name not in flags}
    job = JobSpec(
        provider=provider.name,
        options=provider.definer.options(**special),
        origins=origins,
        **common,
    )
    return _without_foreign(job, provider)


class _Section(dict):  # type: ignore[type-arg]
    """Another provider's part of launch.yaml."""


def _parsed(
    provider: Provider, values: Mapping[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item, kind in option_fields(JobSpec) + option_fields(provider.definer.options):
        raw = values.get(item.name)
        if raw is None or raw == ():
            continue
        if isinstance(raw, tuple) and len(set(raw)) > 1 and not isinstance(kind, Pairs | Words):
            flag, both = item.metadata["flags"][0], " and ".join(map(repr, raw))
            problems.append(RULES["flag-twice"].at(flag, both[:80]))
        for text in raw if isinstance(raw, tuple) else (raw,):
            value = parsed(kind, item.metadata["flags"][0], text, problems)
            if value is None:
                continue
            before = found.get(item.name)
            if isinstance(value, dict) and before:
                problems += _named_twice(item, before, value)
            if isinstance(value, tuple) and before:
                value = before + value
            found[item.name] = {**(before or {}), **value} if isinstance(value, dict) else value
    return found


def _named_twice(
    item: Field[Any], before: Mapping[str, str], value: Mapping[str, str]
) -> list[Problem]:
    """Names that the same flag gave before: only the last value would be sent."""
    flag = item.metadata["flags"][0]
    return [
        RULES["flag-name-twice"].at(f"{flag} {name}", "the same name twice")
        for name in value
        if name in before
    ]


def _from_file(file: str | None, no_file: bool) -> tuple[dict[str, Any], str]:
    from launchers.core.reading.job_file import DEFAULT_FILE

    path = Path(file or DEFAULT_FILE)
    if no_file or (file is None and not path.is_file()):
        return {}, "from flags"
    from launchers.core.reading.job_file import read
    from launchers.core.registry import PROVIDERS

    values = read(path)
    folder = path.parent
    for job in values.get("sweep", [values]):
        for name in _PATHS:
            if job.get(name) and folder != Path("."):
                job[name] = os.path.join(folder, os.path.expanduser(job[name]))
        if job.get("module") and not job.get("source") and folder != Path("."):
            job["source"] = str(folder)
        for name in PROVIDERS:
            if name in job:
                job[name] = _Section(job[name])
    return values, f"from {path} and flags"


def _without_foreign(job: JobSpec, provider: Provider) -> JobSpec:
    """``job`` without the common keys of launch.yaml that this provider has no use for."""
    known = {item.name for item, _ in option_fields(JobSpec, provider.definer.unused)}
    fresh = JobSpec()
    changes = {
        item.name: getattr(fresh, item.name)
        for item, _ in option_fields(JobSpec)
        if item.name not in known
    }
    return replace(job, **changes) if changes else job


def _word_problems(
    provider: Provider, values: Mapping[str, Any], words: tuple[str, ...], allowed: list[str]
) -> list[Problem]:
    """Unknown flags and stray words. ``train.py --epochs 3`` gets the line that was meant."""
    unknown = [word for word in words if word.startswith("-") and word != "-"]
    scripts = [word for word in words if word not in unknown]
    problems = []
    misspelt = [word for word in unknown if _near_flag(word, allowed)]
    for word in misspelt:
        problems.append(
            RULES["flag-unknown"].at(
                word,
                "no such option",
                f"an option of `launch {provider.name}`",
                _near_flag(word, allowed),
            )
        )
    module = bool(values.get("module"))
    if misspelt or (not unknown and len(scripts) <= (0 if module else 1)):
        return problems
    if module and len(words) == 1 and words[0].endswith(".py"):
        return [_script_and_module(provider, values, words[0])]
    at = next((index for index, word in enumerate(words) if word.endswith(".py")), -1)
    if at < 0 and not words[0].startswith("-"):
        at = 0
    if module:
        at = -1  # `-m` says what runs, and every word is the module's
    script = [words[at]] if at >= 0 else []
    rest = [word for index, word in enumerate(words) if index != at]
    line = ["launch", provider.name, *script, *_as_typed(provider, values)]
    right = shlex.join([*line, "--", *rest])
    found = " ".join(rest)
    return [
        RULES["arguments-without-separator"].at(
            found, "no option of ours", fix=f"{_named_elsewhere(unknown, allowed)}write: {right}"
        )
    ]


def _script_and_module(provider: Provider, values: Mapping[str, Any], script: str) -> Problem:
    module = values["module"][0]
    others = _as_typed(provider, {**values, "module": ()})
    line = ["launch", provider.name]
    as_script = shlex.join([*line, script, *others])
    as_module = shlex.join([*line, "-m", module, *others])
    return RULES["script-and-module"].at(
        "SCRIPT and -m", f"{script} and {module}", fix=f"write: {as_script}; or: {as_module}"
    )


def _named_elsewhere(words: list[str], allowed: list[str]) -> str:
    """``if --zone is meant for us, it is --location; ``: what gcloud and the clouds' SDKs call our
    flags, which a script of the user may have as well."""
    hints = []
    for word in words:
        name = word.partition("=")[0]
        ours = _ELSEWHERE.get(name.replace("_", "-"), "")
        if ours in allowed:
            hints.append(f"{name} is {ours} here")
    return f"{', '.join(hints)}; if it is the script's, " if hints else ""


_ELSEWHERE = {
    "--machine-type": "--machine",
    "--instance-type": "--machine",
    "--instance-count": "--instances",
    "--replica-count": "--instances",
    "--nodes": "--instances",
    "--num-nodes": "--instances",
    "--hosts": "--instances",
    "--np": "--processes",
    "--num-proc": "--processes",
    "--nproc-per-node": "--processes",
    "--accelerator-type": "--accelerator",
    "--accelerator-count": "--gpus",
    "--zone": "--location",
    "--preemptible": "--spot",
    "--use-spot-instances": "--spot",
    "--container-image-uri": "--image",
    "--image-uri": "--image",
    "--display-name": "--name",
    "--job-name": "--name",
    "--labels": "--tag",
    "--tags": "--tag",
    "--staging-bucket": "--bucket",
    "--module-name": "--module",
    "--python-module": "--module",
    "--kms-key": "--encryption-key",
    "--boot-disk-size": "--boot-disk",
    "--disk": "--boot-disk",
    "--max-run": "--max-runtime",
    "--volume-size": "--volume",
}


def _near_flag(word: str, allowed: list[str]) -> str:
    """A "did you mean" only for a near miss: a script's own flag must not be taken for ours."""
    name = word.partition("=")[0]
    hint = did_you_mean(name, allowed)
    if not hint:
        return ""
    meant = hint.removeprefix("did you mean ").rstrip("?")
    import difflib

    return hint if difflib.SequenceMatcher(None, name, meant).ratio() >= 0.84 else ""


def _as_typed(provider: Provider, values: Mapping[str, Any]) -> list[str]:
    words = []
    for item, _ in option_fields(JobSpec) + option_fields(provider.definer.options):
        raw = values.get(item.name)
        for value in raw if isinstance(raw, tuple) else (raw,):
            if value is True:
                words.append(item.metadata["flags"][0])
            elif value:
                words += [item.metadata["flags"][0], value]
    if values["file"]:
        words += ["--file", values["file"]]
    words += [flag for name, flag in _SWITCHES.items() if values.get(name)]
    # Without it the line that was meant to print a job would send one.
    mode = values.get("dry_run")
    if mode:
        words.append("--dry-run" if mode == "print" else f"--dry-run={mode}")
    return words


_SWITCHES = {"no_file": "--no-file", "again": "--again", "detach": "--detach", "as_json": "--json"}

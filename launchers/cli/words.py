"""What a command line's words mean that are neither a flag of ours nor a flag's value: SCRIPT, a
misspelt flag, or the script's own arguments without their ``--``, with the line that was meant."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launchers.cli.catalogue import RULES
from launchers.core.model.problems import Problem, did_you_mean
from launchers.core.provider import Provider
from launchers.core.registry import PROVIDERS
from launchers.core.registry import provider as provider_of
from launchers.core.spec.job import JobSpec
from launchers.core.spec.option import option_fields
from launchers.core.spec.targets import Targets


@dataclass(frozen=True)
class Command:
    """The command that reads a job's words, where it is not `launch PROVIDER`.

    Attributes:
        verb: ``scaling local``.
        typed: Its own flags as they were typed, for a line that was meant.
    """

    verb: str
    typed: Sequence[str] = ()


def word_problems(
    provider: Provider,
    values: Mapping[str, Any],
    words: tuple[str, ...],
    allowed: list[str],
    command: Command | None = None,
) -> list[Problem]:
    """Unknown flags and stray words. ``train.py --epochs 3`` gets the line that was meant."""
    command = command or Command(provider.name)
    begin = ["launch", *command.verb.split()]
    unknown = [word for word in words if word.startswith("-") and word != "-"]
    scripts = [word for word in words if word not in unknown]
    problems = []
    misspelt = [word for word in unknown if _near_flag(word, allowed)]
    for word in misspelt:
        problems.append(
            RULES["flag-unknown"].at(
                word,
                "no such option",
                f"an option of `launch {command.verb}`",
                _near_flag(word, allowed),
            )
        )
    module = bool(values.get("module"))
    if misspelt or (not unknown and len(scripts) <= (0 if module else 1)):
        return problems
    if module and len(words) == 1 and words[0].endswith(".py"):
        return [_script_and_module(provider, values, words[0], begin)]
    at = next((index for index, word in enumerate(words) if word.endswith(".py")), -1)
    if at < 0 and not words[0].startswith("-"):
        at = 0
    if module:
        at = -1  # `-m` says what runs, and every word is the module's
    script = [words[at]] if at >= 0 else []
    rest = [word for index, word in enumerate(words) if index != at]
    line = [*begin, *script, *command.typed, *_as_typed(provider, values)]
    right = shlex.join([*line, "--", *rest])
    found = " ".join(rest)
    return [
        RULES["arguments-without-separator"].at(
            found, "not an option of launch", fix=f"{_meant_for_us(unknown, allowed)}write: {right}"
        )
    ]


def _script_and_module(
    provider: Provider, values: Mapping[str, Any], script: str, line: Sequence[str]
) -> Problem:
    module = values["module"][0]
    others = _as_typed(provider, {**values, "module": ()})
    as_script = shlex.join([*line, script, *others])
    as_module = shlex.join([*line, "-m", module, *others])
    return RULES["script-and-module"].at(
        "SCRIPT and -m", f"{script} and {module}", fix=f"write: {as_script}; or: {as_module}"
    )


def _meant_for_us(words: list[str], allowed: list[str]) -> str:
    """``--zone is --location here; if it is the script's, ``: what gcloud and the clouds' SDKs call
    our flags, and flags of our other providers, which a script of the user may have as well."""
    hints = []
    for name in (word.partition("=")[0] for word in words):
        ours = _ELSEWHERE.get(name.replace("_", "-"), "")
        others = [f"`launch {other}`" for other in PROVIDERS if name in _flags_of(other)]
        if ours in allowed:
            hints.append(f"{name} is {ours} here")
        elif others:
            hints.append(f"{name} is an option of {' and '.join(others)} alone: leave it out")
    return f"{', '.join(hints)}; if it is the script's, " if hints else ""


def _flags_of(name: str) -> set[str]:
    definer = provider_of(name).definer
    items = option_fields(JobSpec, definer.unused) + option_fields(definer.options)
    return {flag for item, _ in items for flag in item.metadata["flags"]}


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
    for item, kind in option_fields(JobSpec) + option_fields(provider.definer.options):
        raw = values.get(item.name)
        for value in raw if isinstance(raw, tuple) else (raw,):
            if value is True:
                words.append(item.metadata["flags"][0])
            elif value:
                # A webhook's address stands in a line that is to be copied as little as in this.
                secret = isinstance(kind, Targets) and "://" in value
                words += [item.metadata["flags"][0], "webhook:VARIABLE" if secret else value]
    for name in ("file", "profile"):
        if values.get(name):
            words += [f"--{name}", values[name]]
    words += [flag for name, flag in _SWITCHES.items() if values.get(name)]
    # Without it the line that was meant to print a job would send one.
    mode = values.get("dry_run")
    if mode:
        words.append("--dry-run" if mode == "print" else f"--dry-run={mode}")
    return words


_SWITCHES = {
    "no_file": "--no-file",
    "no_defaults": "--no-defaults",
    "again": "--again",
    "detach": "--detach",
    "as_json": "--json",
}

"""Which script an AI Platform Training job ran, with which arguments, and on how many ranks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from launchers.core.analysis.plain_start.shell import CommandLine, command_line
from launchers.core.analysis.plain_start.start import launched_words, read_start
from launchers.core.model.problems import Problem, Severity
from launchers.vertex.ai_platform.input import INPUT, Given
from launchers.vertex.catalogue import RULES
from launchers.vertex.rules.starts import HOROVODS

_MASTER = f"{INPUT}.masterConfig"
_WORKER = f"{INPUT}.workerConfig"


@dataclass(frozen=True)
class Training:
    """What runs.

    Attributes:
        script: A path below ``source``; None where nothing says it.
        source: The folder that travels; None for the script's own.
        arguments: The script's arguments, in order.
        ranks: Ranks of the whole job by a launcher's ``-np``; None where none says so.
        every_replica: Whether that launcher counted the ranks of its own replica alone.
        module: Instead of a script, what ``python -m`` runs in ``source``.
    """

    script: str | None
    source: str | None
    arguments: tuple[str, ...]
    ranks: int | None = None
    every_replica: bool = False
    module: str | None = None


def training(given: Given, arguments: Sequence[str] | None, problems: list[Problem]) -> Training:
    """The script of a package or of a container's command.

    Args:
        arguments: What stood behind ``--``; None where there was no ``--``. They win over those
            of the file.
        problems: Takes what changed and what has no counterpart.
    """
    own = list(arguments) if arguments is not None else list(given.get(f"{INPUT}.args") or ())
    if given.get(f"{_MASTER}.imageUri"):
        found = _container(given, own, problems)
    else:
        found = _package(given, own, problems)
    _packages(given, problems)
    job_dir = given.get(f"{INPUT}.jobDir")
    words = ("--job-dir", job_dir, *found.arguments) if job_dir else found.arguments
    return replace(found, arguments=tuple(words))


def _container(given: Given, own: list[str], problems: list[Problem]) -> Training:
    """A custom container: its command, or its image's entry point, which is not known here."""
    path = f"{_MASTER}.containerCommand"
    command = list(given.get(path) or ())
    words = [*command, *(given.get(f"{_MASTER}.containerArgs") or ()), *own]
    for key in ("containerCommand", "containerArgs"):
        other = given.get(f"{_WORKER}.{key}")
        if other is not None and other != given.get(f"{_MASTER}.{key}"):
            problems.append(_other_workers(f"{_WORKER}.{key}"))
    script = given.flags.get("--script")
    if not command:
        # What follows the image's entry point.
        found = Training(script, given.flags.get("--source"), tuple(words))
        return (
            found if script else _no_script(path, "no command: the image's entry point", problems)
        )
    program = launched_words(words)
    start = read_start(words)
    ranks, every = start.ranks, start.closed
    if start.launcher and start.launcher not in HOROVODS:
        expected = "ranks of Horovod, or a script alone"
        problems.append(RULES["import-refused"].at(path, start.text, expected))
        return Training(None, None, ())
    inner = _script_and_arguments(program)
    if inner is None and script is None:
        return _no_script(path, " ".join(words[:4])[:60], problems)
    in_image, rest, is_module = inner or ("", [], False)
    rest = _shells_arguments(rest, command_line(words), path, problems)
    if start.launcher:
        fix = "the agent starts the ranks of all replicas, without ssh"
        problems.append(RULES["import-changed"].at(path, start.text, "the script alone", fix))
    module = in_image if is_module and script is None else None
    if module is not None:
        problems.append(_module_in_image(module, path))
    elif script is None:
        script = _relative(in_image, path, problems)
    return Training(script, given.flags.get("--source"), tuple(rest), ranks, every, module)


def _shells_arguments(
    rest: list[str], line: CommandLine, path: str, problems: list[Problem]
) -> list[str]:
    """The script's arguments where a shell started it.

    Args:
        line: What the container runs; words behind the shell's ``-c`` script count where the
            script does not read them itself.
    """
    behind = line.behind
    if "$@" in line.text:
        return rest
    if behind:
        found = f"{' '.join(behind)[:60]}, after a shell script that does not read it"
        expected = "arguments of the training script"
        problems.append(RULES["import-changed"].at(path, found, expected, "they are now"))
    return [*rest, *behind]


def _relative(in_image: str, path: str, problems: list[Problem]) -> str:
    """A script of an image as a path below the folder that travels."""
    script = posixpath.normpath(in_image)
    if script.startswith(("/", "..")):
        script = posixpath.basename(script)
    fix = (
        f"`script: {script}` is looked for on this machine, below `source`; "
        "--source DIR and --script FILE say where it is"
    )
    found = f"{in_image[:60]}, a script in the image"
    expected = "a script that is sent with the job"
    problems.append(RULES["import-changed"].at(path, found, expected, fix))
    return script


def _module_in_image(module: str, path: str) -> Problem:
    found, expected = f"{module[:60]}, a module in the image", "a module that is sent with the job"
    fix = f"`module: {module}` is looked for on this machine, in `source`; --source DIR names it"
    return RULES["import-changed"].at(path, found, expected, fix)


def _package(given: Given, own: list[str], problems: list[Problem]) -> Training:
    """A Python package: ``--package-path trainer --module-name trainer.task``."""
    path = f"{INPUT}.pythonModule"
    module = given.get(path)
    script, source = given.flags.get("--script"), given.flags.get("--source")
    folder = given.flags.get("--package-path")
    if script is not None:
        return Training(script, source, tuple(own))
    if not module:
        return _no_script(path, "neither pythonModule nor an image", problems)
    if folder is None and source is None:
        found = f"{module}, of packages"
        return _no_script(given.where(path), found, problems)
    if source is None:
        source = posixpath.dirname(posixpath.normpath(folder or ".")) or "."
    return Training(None, source, tuple(own), module=module)


def _packages(given: Given, problems: list[Problem]) -> None:
    """Packages beside the source: none travels."""
    uris = given.get(f"{INPUT}.packageUris")
    local = given.flags.get("--packages")
    for where, found in ((f"{INPUT}.packageUris", uris), ("--packages", local)):
        if not found:
            continue
        named = ", ".join(found) if isinstance(found, list) else found
        # A source or a script that is named stands for the training's own package.
        replaced = any(flag in given.flags for flag in ("--source", "--script", "--package-path"))
        severity: Severity = "warning" if replaced else "error"
        problems.append(RULES["import-packages"].at(where, named[:80], severity=severity))


def _no_script(where: str, found: str, problems: list[Problem]) -> Training:
    problems.append(
        RULES["import-script"].at(
            where,
            found,
            "a script that is sent with the job",
            "--source DIR --script FILE: the folder on this machine, and the script in it",
        )
    )
    return Training(None, None, ())


def _other_workers(where: str) -> Problem:
    found = "another start than the master's"
    fix = "every rank runs one script; the agent starts it in all replicas"
    return RULES["import-changed"].at(where, found, "the same start", fix)


def _script_and_arguments(words: Sequence[str]) -> tuple[str, list[str], bool] | None:
    """The script or module of ``python -u -m trainer.task --epochs 3``, what follows it, and
    whether it is a module."""
    left = list(words[1:])
    while left:
        word = left.pop(0)
        if word == "-m" and left:
            return left.pop(0), left, True
        if word in ("-W", "-X") and left:
            left.pop(0)
        elif not word.startswith("-"):
            return (word, left, False) if re.search(r"\.pyc?$", word) else None
        elif word == "-c":
            return None
    return None

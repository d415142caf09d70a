"""`launch import FILE`: a job file of an older service becomes a launch.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.show.as_json import problem_as_json, value_as_json
from launchers.cli.show.output import answer, say, say_problems
from launchers.cli.verb import Verb
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_OK,
    LaunchError,
    Problem,
    did_you_mean,
    errors,
)
from launchers.core.paths import writing
from launchers.core.reading.text_file import read_verbatim_mapping
from launchers.core.registry import providers_with
from launchers.core.roles import Importer
from launchers.core.source.python_module import module_file
from launchers.core.spec.layers import DEFAULT_FILE


@click.command(
    "import",
    cls=Verb,
    examples=(
        "launch import config.yaml",
        "launch import -- gcloud ml-engine jobs submit training job7 --config FILE",
    ),
    help="Write a launch.yaml from a job of AI Platform Training: FILE is its configuration, if it "
    "had one. What `gcloud ml-engine jobs submit training` had is taken with it: the flags, JOB "
    "and, behind `--`, the script's arguments; gcloud's whole line may stand there as it was "
    "typed. --source DIR and --script FILE say where the code lies.",
    context_settings={"ignore_unknown_options": True, "max_content_width": 100},
)
@click.argument(
    "words", nargs=-1, type=click.UNPROCESSED, metavar="[FILE|-] [JOB] [GCLOUD'S FLAGS]"
)
@click.option(
    "--provider",
    "name",
    default="vertex",
    metavar="NAME",
    help="The provider that the job moves to.",
)
@click.option("-o", "--output", default=DEFAULT_FILE, metavar="FILE", help="Default: launch.yaml")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--config", metavar="FILE", hidden=True)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(
    words: tuple[str, ...],
    name: str,
    output: str,
    force: bool,
    config: str | None,
    as_json: bool,
) -> int:
    """Write the file, or nothing where something has no counterpart."""
    importer = _importer(name)
    file, rest, arguments = _taken(words, config, click.get_current_context().obj["arguments"])
    target = Path(output)
    content = read_verbatim_mapping(file) if file else {}
    values, problems = importer.imported(content, rest, arguments)
    values = _placed(values, target.parent)
    problems += _missing_script(values, target.parent)
    if target.exists() and not force:
        there = "a file that is already there"
        problems.append(RULES["import-exists"].at(output, there))
    failed = errors(problems)
    if not failed:
        from launchers.core.reading.job_text import launch_yaml

        origin = f"{Path(_shown(file)).name} of {importer.service_title}"
        with writing(target, expected="a file that can be written"):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(launch_yaml(values, problems, origin), encoding="utf-8")
    if as_json:
        answer(
            {
                "file": file,
                "output": None if failed else output,
                "ok": not failed,
                "values": value_as_json(values),
                "problems": [problem_as_json(problem) for problem in problems],
            }
        )
    else:
        say_problems(problems)
        if failed:
            say(f"{_shown(file)}: {len(failed)} errors, so nothing was written")
        else:
            say(f"wrote {target}")
            say(f"next: launch {name} {'' if output == DEFAULT_FILE else f'-f {output} '}--dry-run")
    return EXIT_BAD_REQUEST if failed else EXIT_OK


def _taken(
    words: Sequence[str], config: str | None, arguments: Sequence[str] | None
) -> tuple[str | None, list[str], list[str] | None]:
    """The file of the configuration (``-`` for standard input, None for none), gcloud's words, and
    the script's arguments.

    gcloud's own line stands as it was typed, before ``--`` or behind it: its ``--config`` is the
    file, and what follows its own ``--`` are the arguments.
    """
    rest, behind = list(words), None if arguments is None else list(arguments)
    if not rest and behind and behind[0] == _GCLOUD:
        config, rest, behind = _of_gcloud(behind)
    first = rest[0] if rest else ""
    if not first and config is None:
        expected = "a configuration file, - for standard input, or gcloud's line"
        raise LaunchError(RULES["import-flag"].at("FILE", "missing", expected))
    # A file that is there, or is named like one; a single word is one too.
    is_file = first == "-" or Path(first).suffix in _SUFFIXES or Path(first).is_file()
    alone = len(rest) == 1 and config is None and first != _GCLOUD and first[:1] != "-"
    named = first if first and (is_file or alone) else None
    late = [word for word in rest[1:] if config is None and Path(word).suffix in _SUFFIXES]
    if named is None and late:
        raise _not_first(late[0])
    if named is None:
        return config, rest, behind
    if config not in (None, named):
        raise _not_first(str(config))
    return named, rest[1:], behind


def _of_gcloud(line: Sequence[str]) -> tuple[str | None, list[str], list[str] | None]:
    """The file, the words and the arguments of gcloud's whole line."""
    at = line.index("--") if "--" in line else len(line)
    rest, behind = list(line[:at]), list(line[at + 1 :]) if at < len(line) else None
    flagged = [word for word in rest if word.partition("=")[0] == _CONFIG]
    if not flagged:
        return None, rest, behind
    start = rest.index(flagged[0])
    _, equals, value = flagged[0].partition("=")
    config = value if equals else "".join(rest[start + 1 : start + 2])
    del rest[start : start + (1 if equals else 2)]
    return config, rest, behind


def _not_first(word: str) -> LaunchError:
    return LaunchError(RULES["import-flag"].at("FILE", word, "the file, before all flags"))


_GCLOUD, _CONFIG = "gcloud", "--config"
_SUFFIXES = (".yaml", ".yml", ".json")


def _shown(file: str | None) -> str:
    return "a line of gcloud" if file is None else "standard input" if file == "-" else file


def _importer(name: str) -> Importer:
    known = providers_with(lambda one: one.importer)
    if name not in known:
        expected, fix = "one of " + ", ".join(known), did_you_mean(name, known)
        raise LaunchError(RULES["provider-unknown"].at("--provider", name, expected, fix))
    return known[name]


def _placed(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``values`` with script and source as paths from the folder of the launch.yaml, which is
    where a launch.yaml's paths begin."""
    placed = dict(values)
    source = values.get("source")
    if source:
        placed["source"] = _from(folder, source)
    if values.get("script"):
        placed["script"] = _from(folder, os.path.join(source or "", values["script"]))
    return placed


def _from(folder: Path, path: str) -> str:
    path = os.path.expanduser(path)
    return path if os.path.isabs(path) else os.path.relpath(path, folder)


def _missing_script(values: Mapping[str, Any], folder: Path) -> list[Problem]:
    """A warning where the script does not lie where launch.yaml will look for it."""
    module = values.get("module")
    if module and not module_file(folder / values.get("source", "."), module):
        where = f"{module} in {values.get('source') or folder}"
        expected, fix = "the module on this machine", "--source DIR says where its name starts from"
        return [
            RULES["import-script"].at(where, "no such module", expected, fix, severity="warning")
        ]
    script = values.get("script")
    if not script or (folder / script).is_file():
        return []
    expected = "the script on this machine"
    fix = "--source DIR --script FILE say where it lies"
    where = str(folder / script)
    return [RULES["import-script"].at(where, "no such file", expected, fix, severity="warning")]

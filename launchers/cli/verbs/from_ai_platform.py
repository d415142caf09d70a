"""`launch vertex --from-ai-platform FILE`: an old training job becomes a launch.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from launchers.cli.show.output import answer, say, say_problems
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_OK,
    LaunchError,
    Problem,
    errors,
    writing,
)
from launchers.core.reading.job_file import DEFAULT_FILE
from launchers.core.reading.text_file import read_verbatim_mapping
from launchers.core.source.python_module import module_file

FLAG = "--from-ai-platform"
_HELP = (
    "Write a launch.yaml from this configuration of AI Platform Training. The flags of gcloud "
    "ml-engine jobs submit training are taken with it, and -o FILE, --force, --source DIR, "
    "--script FILE."
)


class ImportingCommand(click.Command):
    """A provider's command that takes gcloud's flags instead of its own behind the flag."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps the words as they are where the flag is among them."""
        if not any(word.partition("=")[0] == FLAG for word in args):
            return super().parse_args(ctx, args)
        ctx.obj["import"] = list(args)
        return []

    def invoke(self, ctx: click.Context) -> Any:
        """Imports, or runs the command."""
        words = ctx.obj.pop("import", None)
        if words is None:
            return super().invoke(ctx)
        return import_words(words, ctx.obj["arguments"])


def importing(command: click.Command) -> click.Command:
    """``command`` with the flag: ``importing(provider_command("vertex", ...))``."""
    flag = click.Option([FLAG, "from_ai_platform"], metavar="CONFIG", help=_HELP)
    return ImportingCommand(
        command.name,
        callback=command.callback,
        params=[*command.params, flag],
        help=command.help,
        epilog=command.epilog,
        options_metavar=command.options_metavar,
        context_settings=command.context_settings,
    )


def import_words(words: Sequence[str], arguments: Sequence[str] | None) -> int:
    """Import what a command line says, ``launch vertex`` and what follows ``--`` taken off.

    Raises:
        LaunchError: A flag has no value, or as :func:`convert_and_write`.
    """
    left, found = [], {"-o": DEFAULT_FILE, "--force": "", "--json": "", FLAG: "", "--config": ""}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        name = "-o" if name == "--output" else name
        if name not in found:
            left.append(word)
        elif name in ("--force", "--json"):
            found[name] = "yes"
        elif equals or waiting:
            found[name] = value if equals else waiting.pop(0)
        else:
            raise LaunchError(Problem(name, "no value", "a file", rule="flag-value"))
    if found["--config"] and found["--config"] != found[FLAG]:
        raise LaunchError(
            Problem("--config", found["--config"], f"the file of {FLAG}", rule="import-flag")
        )
    return convert_and_write(
        found[FLAG],
        left,
        arguments,
        output=found["-o"],
        force=bool(found["--force"]),
        as_json=bool(found["--json"]),
    )


def convert_and_write(
    file: str,
    words: Sequence[str],
    arguments: Sequence[str] | None = None,
    output: str = DEFAULT_FILE,
    force: bool = False,
    as_json: bool = False,
) -> int:
    """Write a launch.yaml from an old configuration; nothing where something has no counterpart.

    Args:
        file: The configuration, YAML or JSON.
        words: gcloud's flags and JOB, as they were typed.
        arguments: What stood behind ``--``, or None.
        output: The file to write.
        force: Write over a file that is there.
        as_json: The answer as JSON on stdout.

    Returns:
        The exit code: 2 where an error is among the problems.

    Raises:
        LaunchError: The file cannot be read, or the output is there already or cannot be written.
    """
    from launchers.vertex.ai_platform.convert import convert
    from launchers.vertex.ai_platform.file import launch_yaml
    from launchers.vertex.ai_platform.input import read_words

    target = Path(output)
    config = read_verbatim_mapping(file)
    flags, problems = read_words(words)
    values, found = convert(config, flags, arguments)
    values = _placed(values, target.parent)
    problems += found + _missing_script(values, target.parent)
    if target.exists() and not force:
        there = "a file that is already there"
        fix = "--force writes over it, -o FILE writes another"
        problems.append(Problem(output, there, "no such file yet", fix, rule="import-exists"))
    failed = bool(errors(problems))
    if as_json:
        answer(
            {
                "file": file,
                "output": None if failed else output,
                "ok": not failed,
                "values": values,
                "problems": [problem.as_dict() for problem in problems],
            }
        )
    else:
        say_problems(problems)
    if failed:
        if not as_json:
            say(f"{file}: {len(errors(problems))} errors, so nothing was written")
        return EXIT_BAD_REQUEST
    _write(target, launch_yaml(values, problems, Path(file).name))
    if not as_json:
        say(f"wrote {target}")
        say(f"next: launch vertex {_file_flag(output)}--dry-run")
    return EXIT_OK


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
        return [Problem(where, "no such module", expected, fix, "warning", "import-script")]
    script = values.get("script")
    if not script or (folder / script).is_file():
        return []
    expected = "the script on this machine"
    fix = "--source DIR --script FILE say where it lies"
    where = str(folder / script)
    return [Problem(where, "no such file", expected, fix, "warning", "import-script")]


def _write(target: Path, text: str) -> None:
    with writing(target, expected="a file that can be written"):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _file_flag(output: str) -> str:
    return "" if output == DEFAULT_FILE else f"-f {output} "

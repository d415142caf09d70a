"""Entry of ``launch``: splits argv, finds the verb's module, turns errors into messages.

Only the verb that was asked for is imported; ``launch --help`` imports none.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from itertools import pairwise
from typing import Any, NoReturn

import click

from launchers import DISTRIBUTION
from launchers.cli import interrupts
from launchers.cli.catalogue import RULES
from launchers.cli.completion import VARIABLE
from launchers.cli.failures import report, show_traceback
from launchers.cli.show.streams import make_steady
from launchers.cli.verb_group import VerbGroup
from launchers.cli.verb_table import ELSEWHERE, TAKE_SCRIPTS, VERBS
from launchers.core.model.problems import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    LaunchError,
    Problem,
)


class Verbs(VerbGroup):
    """A group whose commands are modules that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the help's order."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The verb's command, its module imported now."""
        if name not in VERBS:
            return None
        module = importlib.import_module(f"launchers.cli.verbs.{VERBS[name][0]}")
        command: click.Command = (
            module.provider_command(name) if VERBS[name][0] == "run" else module.command
        )
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As every group does; a flag that is a verb by now gets its line."""
        if (
            args[:1]
            and args[0] in VERBS
            and any(word.partition("=")[0] == _IMPORT_FLAG for word in args)
        ):
            raise LaunchError(_import_flag(args))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The verbs, from :data:`VERBS` alone, and the group's own flags."""
        from click.shell_completion import CompletionItem

        verbs = [(name, text) for name, (_, text) in VERBS.items() if name.startswith(incomplete)]
        flags = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=text) for name, text in verbs), *flags]

    def about(self, ctx: click.Context) -> list[tuple[str, str]]:
        """The table of verbs, from :data:`VERBS` alone."""
        return [(name, text) for name, (_, text) in VERBS.items()]


# NUL, and halves of characters: no shell passes them, but a caller of :func:`run` may. Bytes that
# are no UTF-8 are others (PEP 383).
_NO_ARGUMENT = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_IMPORT_FLAG = "--from-ai-platform"


def _import_flag(words: list[str]) -> Problem:
    """The flag is a verb now; the line that says the same."""
    import shlex

    before, _, rest = "\0".join(words[1:]).partition(_IMPORT_FLAG)
    after = [word for word in [*rest[1:].split("\0"), *before.split("\0")] if word]
    line = shlex.join(["launch", "import", *after])
    expected, fix = "`launch import FILE`", f"write: {line}"
    return RULES["flag-unknown"].at(_IMPORT_FLAG, "this option was removed", expected, fix)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Take a training script (Horovod, PyTorch, TensorFlow, JAX) to this machine or a managed "
    "cloud, and prove that what ran was really distributed.\n\nWhat follows `--` reaches the "
    "script verbatim.",
    examples=(
        "launch local train.py --instances 2 -- --epochs 3",
        "launch sagemaker train.py --instances 2 --gpus 4 --dry-run",
    ),
    runs_scripts="local",
    elsewhere=ELSEWHERE,
    epilog="`launch VERB --help` shows a verb's flags. `launch help` lists topics, such as "
    "strategies, secrets, spot, names and exit codes.",
)
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, given: _say_version(context) if given else None,
    help="Show the version.",
)
@click.option("--json", "as_json", is_flag=True, hidden=True)
def cli(debug: bool, as_json: bool) -> None:
    """The group; its options stand before the verb, where `--json` is for `--version` alone."""


def _say_version(context: click.Context) -> NoReturn:
    from importlib.metadata import version

    found = version(DISTRIBUTION)
    if context.obj["as_json"]:
        from launchers.cli.show.output import answer

        answer({"version": found})
    else:
        click.echo(f"launch {found}")
    context.exit()


def main() -> NoReturn:
    """The console script. Ends the process with one of the design's exit codes."""
    if VARIABLE in os.environ:
        from launchers.cli.completion.answer import complete

        sys.exit(complete(cli, split))
    interrupts.listen()
    make_steady()
    on_terminal = sys.stdout.isatty()
    try:
        code = ended(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        from launchers.cli.show.streams import silence_stdout

        # The reader of our stdout went away (`| head`): nothing more to say.
        silence_stdout()
        code = EXIT_INTERRUPTED if on_terminal else EXIT_OK
    except OSError as error:
        code = report(error)
    except KeyboardInterrupt:  # a second one, while the first is told of
        code = EXIT_INTERRUPTED
    sys.exit(code)


def ended(words: list[str]) -> int:
    """Run one command line, say what goes wrong, and give its exit code.

    With ``--json`` stdout has one JSON value in the end, whatever happened.

    Raises:
        OSError: stdout takes no more; BrokenPipeError where its reader is gone.
    """
    as_json = asks_for_json(words)
    if as_json:
        from launchers.cli.show import output

        output.said.clear()
    try:
        code = run(words)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except Exception as error:
        show_traceback(error, words)
        code = report(error)
    if as_json and code != EXIT_OK:
        output.answer_failure(code, one_line=_verb(words) == "logs")
    return code


def asks_for_json(words: list[str]) -> bool:
    """Whether stdout is read by a program, as far as can be told before the words are parsed."""
    ours, _ = split(words)
    given = {(flag, value) for flag, _, value in (word.partition("=") for word in ours)}
    if any(flag == "--json" and value != "false" for flag, value in given):
        return True
    return _verb(words) == "check" and ("--report", "json") in {*given, *pairwise(ours)}


def _verb(words: list[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")


def run(words: list[str]) -> int:
    """Run one command line, without the program's name, and give its exit code.

    What follows the first ``--`` of a job is the script's, split off before anything is parsed.
    ``--dry-run`` takes a value only with ``=``, so it is given one here.

    Raises:
        LaunchError, click.ClickException: For :func:`report`.
        BrokenPipeError: Whoever read stdout is gone. (click's own ``main`` would end the process
            with 1.)
    """
    for word in words:
        if _NO_ARGUMENT.search(word):
            found = f"{word[:60]!r}, which cannot be passed to a program"
            raise LaunchError(RULES["usage"].at("launch", found, "text"))
    ours, script_arguments = split(words)
    given = {"arguments": script_arguments, "as_json": asks_for_json(words), "words": words}
    if script_arguments and VERBS.get(_verb(ours), TAKE_SCRIPTS)[0] not in TAKE_SCRIPTS:
        # As in every program: these are words, whatever they begin with.
        ours = [*ours, "--", *script_arguments]
    try:
        with cli.make_context("launch", [*ours], obj=given) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (EOFError, KeyboardInterrupt):
        click.echo(err=True)  # the line on which the terminal shows ^C
        raise click.Abort from None
    return code if isinstance(code, int) else 0


def split(words: list[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """Our words, and the script's: those behind the first ``--``, None where there is none."""
    script: tuple[str, ...] | None = None
    if "--" in words:
        at = words.index("--")
        words, script = words[:at], tuple(words[at + 1 :])
    words = ["--dry-run=print" if word == "--dry-run" else word for word in words]
    # `launch --json list` is `launch list --json`.
    verb = words.index(_verb(words)) if _verb(words) else 0
    if "--json" in words[:verb]:
        words = [*(word for word in words[:verb] if word != "--json"), *words[verb:], "--json"]
    return words, script


if __name__ == "__main__":
    main()

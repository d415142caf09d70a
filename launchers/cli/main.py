"""Entry of ``launch``: splits argv, finds the verb's module, turns errors into messages.

Only the verb that was asked for is imported; ``launch --help`` imports none.
"""

from __future__ import annotations

import errno
import importlib
import re
import sys
from typing import Any, NoReturn

import click

from launchers.cli import interrupts
from launchers.cli.catalogue import RULES
from launchers.cli.show.streams import make_steady
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_INTERRUPTED,
    EXIT_OK,
    LaunchError,
    Problem,
    did_you_mean,
)

# verb -> (module under launchers.cli, line of help); the order is the help's order
VERBS = {
    "local": ("run", "Run a job's ranks on this machine."),
    "sagemaker": ("run", "Run a SageMaker training job, or rehearse it."),
    "vertex": ("run", "Run a Vertex AI CustomJob, or rehearse it."),
    "check": ("check", "Run every rule on a document that something else made."),
    "rehearse": ("rehearse", "Run such a document in containers on this machine."),
    "rehearsals": ("rehearsals", "Show what rehearsals have on this machine, remove leftovers."),
    "machines": ("machines", "Show the providers' machine types."),
    "list": ("list", "Show all jobs."),
    "status": ("status", "Show a job's state."),
    "logs": ("logs", "Print a job's lines, of all ranks or of one."),
    "wait": ("wait", "Wait for a job's end; exit with its 0 or 1."),
    "cancel": ("cancel", "End a job."),
    "import": ("import_job", "Write a launch.yaml from a job of AI Platform Training."),
    "init": ("init", "Write a commented launch.yaml and a small train.py."),
    "image": ("image", "Build, push and check the image that ranks run in."),
    "explain": ("explain", "Explain a rule that a problem names, or list them all."),
    "schema": ("schema", "Print the JSON schema of launch.yaml, for editors."),
}


class Verbs(click.Group):
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
        """As click does, but an unknown verb gets a "did you mean"."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], VERBS)
            if args[0].endswith(".py"):
                hint = f"to run it here: launch local {args[0]}"
            raise LaunchError(
                RULES["verb-unknown"].at(
                    "launch", f"no verb {args[0]!r}", "one of " + ", ".join(VERBS), hint
                )
            )
        if any(word.partition("=")[0] == _IMPORT_FLAG for word in args):
            raise LaunchError(_import_flag(args))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of verbs, from :data:`VERBS` alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


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
    return RULES["flag-unknown"].at(_IMPORT_FLAG, "no option any more", expected, fix)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Take a training script (Horovod, PyTorch) to this machine or a managed cloud, and prove "
    "that what ran was really distributed.\n\nWhat follows `--` reaches the script verbatim: "
    "launch local train.py -- --epochs 3",
)
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.version_option(package_name="launch", message="launch %(version)s")
def cli(debug: bool) -> None:
    """The group; its options stand before the verb."""


def main() -> NoReturn:
    """The console script. Ends the process with one of the design's exit codes."""
    interrupts.listen()
    make_steady()
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    words = sys.argv[1:]
    debug = "--debug" in words[:1]
    try:
        code = run(words)
    except BrokenPipeError:
        # The reader of our stdout went away (`| head`): nothing more to say.
        code = EXIT_INTERRUPTED if on_terminal else EXIT_OK
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except Exception as error:
        if debug:
            raise
        code = report(error)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        from launchers.cli.show.output import silence_stdout

        silence_stdout()
    sys.exit(code)


def run(words: list[str]) -> int:
    """Run one command line, without the program's name, and give its exit code.

    What follows the first ``--`` is the script's and is split off before anything is parsed.
    ``--dry-run`` takes a value only with ``=``, so it is given one here.

    Raises:
        LaunchError, click.ClickException: For :func:`report`.
    """
    for word in words:
        if _NO_ARGUMENT.search(word):
            found = f"{word[:60]!r}, which no program can be given"
            raise LaunchError(RULES["usage"].at("launch", found, "text"))
    ours, script_arguments = split(words)
    code = cli.main(
        args=ours, prog_name="launch", standalone_mode=False, obj={"arguments": script_arguments}
    )
    return code if isinstance(code, int) else 0


def split(words: list[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """Our words, and the script's: those behind the first ``--``, None where there is none."""
    script: tuple[str, ...] | None = None
    if "--" in words:
        at = words.index("--")
        words, script = words[:at], tuple(words[at + 1 :])
    return ["--dry-run=print" if word == "--dry-run" else word for word in words], script


def report(error: Exception) -> int:
    """Print an error for a person, one line a problem, and give the exit code it earns."""
    from launchers.cli.show.output import say_problems

    if isinstance(error, LaunchError):
        say_problems(error.problems)
        return error.exit_code
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.UsageError):
        say_problems([_of_usage(error)])
        return EXIT_BAD_REQUEST
    if isinstance(error, click.Abort):
        return EXIT_INTERRUPTED
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        from launchers.core.paths import unwritable

        place = error.filename or "a file of this machine"
        say_problems([unwritable(place, error, "free space on that disk")])
        return EXIT_BAD_REQUEST
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        found = f"{str(error.filename)[:60]!r}... is too long for a path"
        say_problems([RULES["usage"].at("launch", found, "the path of a file or folder")])
        return EXIT_BAD_REQUEST
    say_problems([RULES["internal-error"].at("launch", f"{type(error).__name__}: {error}")])
    return 1


def _of_usage(error: click.UsageError) -> Problem:
    verb = error.ctx.command_path if error.ctx else "launch"
    if isinstance(error, click.NoSuchOption):
        allowed = (
            [flag for parameter in error.ctx.command.params for flag in parameter.opts]
            if error.ctx
            else []
        )
        hint = did_you_mean(error.option_name, allowed) or f"see `{verb} --help`"
        return RULES["flag-unknown"].at(
            error.option_name, "no such option", f"an option of `{verb}`", hint
        )
    return RULES["usage"].at(
        verb, error.format_message().rstrip("."), f"what `{verb} --help` shows"
    )


if __name__ == "__main__":
    main()

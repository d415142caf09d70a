"""What went wrong, for whoever typed the command: its problems and its exit code."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final

import click

from launchers.cli.catalogue import RULES
from launchers.cli.verb_group import VerbGroup
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_DEFECT,
    EXIT_INTERRUPTED,
    LaunchError,
    Problem,
    did_you_mean,
)

DEFECT: Final = "internal-error"
_LONGEST = 400  # characters of an exception


# A folder's rights, and what protects places beside them (macOS, chattr).
_NO_RIGHT = (errno.EACCES, errno.EPERM)


def report(error: Exception) -> int:
    """Print an error for a person, one line a problem, and give the exit code it earns."""
    from launchers.cli.show.output import say_problems

    if isinstance(error, FileNotFoundError):
        error = _for_want_of_a_folder(error)
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
    if isinstance(error, OSError) and (unwritten := _unwritten(error)):
        say_problems([unwritten])
        return EXIT_BAD_REQUEST
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        found = f"{str(error.filename)[:60]!r}... is too long for a path"
        say_problems([RULES["usage"].at("launch", found, "the path of a file or folder")])
        return EXIT_BAD_REQUEST
    if isinstance(error, PermissionError) and error.errno in _NO_RIGHT and error.filename:
        # A place that the user named, often below a folder that another user has closed.
        found = error.strerror or str(error)
        say_problems([RULES["place-denied"].at(str(error.filename), found)])
        return EXIT_BAD_REQUEST
    say_problems([defect(error)])
    return EXIT_DEFECT


def defect(error: Exception) -> Problem:
    """A defect of ours, with the exception in one line."""
    from launchers.core.credentials.elsewhere import without_credentials

    # Ahead of the cut: a part of a credential has not its shape.
    found = without_credentials(" ".join(f"{type(error).__name__}: {error}".split()))
    return RULES[DEFECT].at("launch", found[:_LONGEST])


def show_traceback(error: Exception, words: Sequence[str]) -> None:
    """The traceback on stderr, where the command line's ``words`` begin with ``--debug``."""
    if "--debug" in words[:1]:
        import traceback

        traceback.print_exception(error)


def _unwritten(error: OSError) -> Problem | None:
    """What could not be written, where that is what ``error`` says."""
    from launchers.cli.show.streams import refused_by_stdout
    from launchers.core.paths import unwritable

    refused = refused_by_stdout(error)
    if refused is not None:
        expected = "room for the answer"
        return unwritable("stdout", refused, "free space on its disk", expected)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = error.filename or "a file of this machine"
        return unwritable(place, error, "free space on that disk")
    return None


def _for_want_of_a_folder(error: FileNotFoundError) -> Exception:
    """What to say of ``error`` where there is no working folder, from which every path starts."""
    from launchers.core.paths import working_folder

    try:
        working_folder()
    except LaunchError as gone:
        return gone
    return error


def _of_usage(error: click.UsageError) -> Problem:
    verb = error.ctx.command_path if error.ctx else "launch"
    command = error.ctx.command if error.ctx else None
    if isinstance(error, click.NoSuchOption):
        parameters = command.get_params(error.ctx) if command and error.ctx else []
        allowed = [flag for parameter in parameters for flag in parameter.opts]
        meant = did_you_mean(error.option_name, allowed)
        hint = meant or f"see `{verb} --help`"
        if isinstance(command, VerbGroup) and not meant and error.option_name != "--json":
            hint = f"a flag goes after its verb; {hint}"
        return RULES["flag-unknown"].at(
            error.option_name, "no such option", f"an option of `{verb}`", hint
        )
    kind = getattr(getattr(error, "param", None), "type", None)
    if isinstance(error, click.BadParameter) and isinstance(kind, click.Choice) and error.message:
        flag = error.param.opts[0] if error.param else verb
        found, allowed = error.message.partition(" is not")[0], [str(one) for one in kind.choices]
        hint = did_you_mean(found.strip("'"), allowed)
        return RULES["flag-value"].at(flag, found[:60], "one of " + ", ".join(allowed), hint)
    hint = ""
    if isinstance(error, click.MissingParameter):
        hint = "".join(f"such as: {one}" for one in getattr(command, "examples", ())[:1])
        if error.param and error.param.human_readable_name == "JOB":
            hint = "`launch list` shows them; the beginning of a name will do"
    found, expected = error.format_message().rstrip("."), f"what `{verb} --help` shows"
    return RULES["usage"].at(verb, found, expected, hint)

"""`launch completion install|show|remove`: what the shell offers at a press of the tab key."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion.values import one_of
from launchers.cli.show.output import say
from launchers.cli.verb import Verb
from launchers.cli.verb_group import VerbGroup
from launchers.core.model.problems import LaunchError, did_you_mean

SHELLS = ("bash", "zsh", "fish")


@click.group(
    "completion",
    cls=VerbGroup,
    examples=("launch completion install", "launch completion install --shell zsh"),
    elsewhere={shell: f"launch completion install --shell {shell}" for shell in SHELLS},
    help="Complete verbs, flags, jobs and machines in bash, zsh or fish.",
)
def command() -> None:
    """The group of the verbs below."""


def _shell_flag(default: str) -> Callable[[Any], Any]:
    text = f"bash, zsh or fish. Default: {default}."
    return click.option("--shell", metavar="SHELL", help=text, shell_complete=one_of(SHELLS))


@command.command(
    "install",
    cls=Verb,
    examples=("launch completion install", "launch completion install --shell zsh"),
    short_help="Install it where the shell looks for it.",
    help="Put the completion where the shell looks for its user's; a second time changes nothing.",
)
@_shell_flag("the login shell's")
def install_command(shell: str | None) -> int:
    """Write the files, and say which."""
    from launchers.cli.completion.places import place_of
    from launchers.cli.completion.scripts import script

    chosen = _shell(shell)
    place = place_of(chosen)
    changed = place.install(script(chosen))
    for path in changed:
        say(f"added a block to {path}" if path == place.rc else f"wrote {path}")
    if not changed:
        say(f"{chosen} completes already: {place.files[0]}")
    else:
        say(f"next: open a new {chosen}, and press the tab key behind `launch `")
    return 0


@command.command(
    "show",
    cls=Verb,
    examples=("launch completion show bash > /etc/bash_completion.d/launch",),
    help="Print a shell's script, for a place of your own.",
)
@click.argument("shell", metavar="SHELL", shell_complete=one_of(SHELLS))
def show_command(shell: str) -> int:
    """Print to stdout."""
    from launchers.cli.completion.scripts import script

    click.echo(script(_shell(shell)), nl=False)
    return 0


@command.command(
    "remove",
    cls=Verb,
    examples=("launch completion remove", "launch completion remove --shell zsh"),
    help="Remove what install has written, for every shell.",
)
@_shell_flag("all of them")
def remove_command(shell: str | None) -> int:
    """Remove the files, and say which."""
    from launchers.cli.completion.places import place_of

    found = False
    for one in SHELLS if shell is None else (_shell(shell),):
        place = place_of(one)
        for path in place.remove():
            found = True
            say(f"removed the block from {path}" if path == place.rc else f"removed {path}")
    if not found:
        say("there is nothing to remove")
    return 0


def _shell(named: str | None) -> str:
    """The shell that is meant.

    Raises:
        LaunchError: It is none that we know, or cannot be told.
    """
    name = PurePath(named or os.environ.get("SHELL", "")).name
    if name in SHELLS:
        return name
    path = "--shell" if named else "SHELL"
    hint = did_you_mean(name, SHELLS) if name else "--shell bash, zsh or fish"
    raise LaunchError(RULES["completion-shell"].at(path, name or "not set", fix=hint))

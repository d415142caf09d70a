"""The script by which a shell asks us: click's, for both names of the command."""

from __future__ import annotations

import click

from launchers.cli.completion import VARIABLE
from launchers.cli.completion.answer import SHELLS
from launchers.cli.completion.places import COMMANDS

# How each shell's script of click says for which command it is, and how for both.
_BOTH = " ".join(COMMANDS)
_FOR_ONE = {
    "bash": [("_launch_completion launch\n", f"_launch_completion {_BOTH}\n")],
    "zsh": [
        ("#compdef launch\n", f"#compdef {_BOTH}\n"),
        ("compdef _launch_completion launch\n", f"compdef _launch_completion {_BOTH}\n"),
    ],
    "fish": [("--command launch ", "--command launch --command launch-training ")],
}


def script(shell: str) -> str:
    """The text that the shell reads."""
    text = SHELLS[shell](click.Command("launch"), {}, "launch", VARIABLE).source()
    for one, both in _FOR_ONE[shell]:
        text = text.replace(one, both)
    return text

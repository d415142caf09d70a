"""`launch help`: a page about one topic, or a verb's help."""

from __future__ import annotations

from collections.abc import Sequence

import click

from launchers.cli import topics
from launchers.cli.catalogue import RULES
from launchers.cli.completion import values
from launchers.cli.show.output import tell
from launchers.cli.verb import Verb
from launchers.core.model.problems import LaunchError, Problem, did_you_mean


@click.command(
    "help",
    cls=Verb,
    examples=("launch help strategies", "launch help exit codes", "launch help sagemaker"),
    help="Show a topic's page, or the help of a verb. Without one, list the topics.",
)
@click.argument("words", nargs=-1, metavar="[TOPIC|VERB]", shell_complete=values.help_words)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> int:
    """Print to stdout."""
    known = topics.names()
    name = "-".join(words).replace("_", "-").lower()
    if not words:
        _list(known)
    elif name in known:
        tell(topics.page(name).rstrip("\n"))
    else:
        tell(_help_of(context, words, known))
    return 0


def _list(known: Sequence[str]) -> None:
    width = max(map(len, known))
    tell("Topics of `launch help TOPIC`:")
    for name in known:
        tell(f"  {name.ljust(width)}  {topics.title(name)}")
    tell("`launch --help` lists the verbs, `launch help VERB` shows one.")


def _help_of(context: click.Context, words: Sequence[str], known: Sequence[str]) -> str:
    """The help of a verb, or of a verb's own.

    Raises:
        LaunchError: There is neither a topic nor a verb of that name.
    """
    assert context.parent is not None
    inner = context.parent
    for word in words:
        group = inner.command
        found = group.get_command(inner, word) if isinstance(group, click.Group) else None
        if found is None:
            raise LaunchError(_unknown(words, known, context.parent))
        inner = click.Context(found, info_name=word, parent=inner)
    return inner.get_help()


def _unknown(words: Sequence[str], known: Sequence[str], root: click.Context) -> Problem:
    assert isinstance(root.command, click.Group)
    named = " ".join(words)
    hint = did_you_mean(named, [*known, *root.command.list_commands(root)])
    return RULES["topic-unknown"].at("TOPIC", named, fix=hint or "`launch help` lists the topics")

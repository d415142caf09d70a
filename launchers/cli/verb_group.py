"""A verb that has verbs of its own, such as `launch image`, and `launch` itself: help that shows
examples before the verbs, and what a word means that is none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.help_lines import write_definitions, write_examples
from launchers.core.model.problems import EXIT_BAD_REQUEST, LaunchError, Problem, did_you_mean


class VerbGroup(click.Group):
    """A group of verbs.

    Args:
        examples: Command lines, as a user would type them.
        runs_scripts: The verb that is meant where a script stands in a verb's place.
        elsewhere: What other tools call its verbs, and the line that does that here.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        runs_scripts: str = "",
        elsewhere: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.runs_scripts = runs_scripts
        self.elsewhere = elsewhere or {}

    def about(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Each verb with its line of help."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        return [(name, one.get_short_help_str(limit=80)) for name, one in found if one]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; without a word the help, for a person on stderr, with the exit code of
        a wrong request."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(EXIT_BAD_REQUEST)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click does.

        Raises:
            LaunchError: There is no such verb; with the line that is meant, as far as it is known.
        """
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise LaunchError(self._unknown(ctx, args[0]))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Usage, what it is for, examples, verbs, flags."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        write_examples(formatter, self.examples)
        rows = self.about(ctx)
        with formatter.section("Commands"):
            write_definitions(formatter, rows, max(len(name) for name, _ in rows))
        click.Command.format_options(self, ctx, formatter)
        self.format_epilog(ctx, formatter)

    def _unknown(self, ctx: click.Context, word: str) -> Problem:
        verbs = self.list_commands(ctx)
        hint = did_you_mean(word, verbs)
        if word.endswith(".py") and self.runs_scripts:
            hint = f"to run it here: {ctx.command_path} {self.runs_scripts} {word}"
        elif word.lower() in self.elsewhere:
            hint = f"here that is `{self.elsewhere[word.lower()]}`"
        expected = "one of " + ", ".join(verbs)
        return RULES["verb-unknown"].at(ctx.command_path, f"no verb {word!r}", expected, hint)

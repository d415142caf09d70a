"""A verb of the command and its flags, and how its help is written: examples first, then the flags
by what they are about, each with its default; the rare ones under ``--help-all`` alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click

from launchers.cli.completion.values import of_metavar
from launchers.cli.help_lines import write_definitions, write_examples
from launchers.cli.values import wrong_values
from launchers.core.model.problems import LaunchError
from launchers.core.paths import working_folder

HELP_ALL, _SHOW_ALL = "--help-all", "help_all"
# As wide as a flag with its value may be to have its text beside it.
_BESIDE = 24
_ALL = "help-all"
# The verbs that look for launch.yaml in the working folder, or read and write by paths from it.
_IN_A_FOLDER = {
    *("local", "sagemaker", "vertex", "spark", "scaling", "check", "rehearse", "import", "init"),
    *("image", "data", "doctor"),
}


class Flag(click.Option):
    """An option that says what it is about.

    Args:
        group: A key of :data:`launchers.core.spec.option.GROUPS`; where a verb's flags have none,
            its help has no headings.
        rare: Whether only ``--help-all`` shows it.
        told_default: What holds where it is not given, when click is not the one to fill it in.
    """

    def __init__(
        self,
        *args: Any,
        group: str = "",
        rare: bool = False,
        told_default: Any = None,
        **settings: Any,
    ) -> None:
        settings.setdefault("shell_complete", of_metavar(settings.get("metavar") or ""))
        super().__init__(*args, **settings)
        self.group = group
        self.rare = rare
        self.told_default = told_default


class Verb(click.Command):
    """A command that reports every wrong value of its flags at once.

    Args:
        examples: Command lines, as a user would type them.
        behind: What may stand behind the words and flags, for the first line of the help.
    """

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), behind: str = "", **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.behind = behind
        if rare := sum(map(_is_rare, self.params)):
            self.params.append(_help_all(rare))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """As click's, with `--help-all` as the last."""
        return sorted(super().get_params(ctx), key=lambda one: one.name == _SHOW_ALL)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does.

        Raises:
            LaunchError: With a problem for each wrong value.
        """
        left = super().parse_args(ctx, args)
        if wrong := wrong_values(ctx):
            raise LaunchError(wrong)
        return left

    def invoke(self, ctx: click.Context) -> Any:
        """As click does.

        Raises:
            LaunchError: There is no working folder, and the verb needs one.
        """
        if ctx.find_root().invoked_subcommand in _IN_A_FOLDER:
            working_folder()
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """As click's, and what may stand behind."""
        return [*super().collect_usage_pieces(ctx), *([self.behind] if self.behind else [])]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Usage, what it does, examples, flags, and how many are not shown."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        write_examples(formatter, self.examples)
        shown_all = bool(ctx.meta.get(_ALL))
        shown = [one for one in self.get_params(ctx) if shown_all or not _is_rare(one)]
        groups = _by_group(shown)
        rows = {
            title: list(_records(ctx, found, aliases=shown_all)) for title, found in groups.items()
        }
        width = _first_width(row for found in rows.values() for row in found)
        for title, found in rows.items():
            if found:
                with formatter.section(title):
                    write_definitions(formatter, found, width)
        self.format_epilog(ctx, formatter)


def _first_width(rows: Iterable[tuple[str, str]]) -> int:
    return max((len(first) for first, _ in rows if len(first) <= _BESIDE), default=_BESIDE)


def _is_rare(parameter: click.Parameter) -> bool:
    return isinstance(parameter, Flag) and parameter.rare


def _by_group(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Parameter]]:
    """Parameters under their headings, in the headings' order; those without a group stand last,
    where the others have one."""
    from launchers.core.spec.option import GROUPS

    found: dict[str, list[click.Parameter]] = {title: [] for title in GROUPS.values()}
    rest: list[click.Parameter] = []
    for one in parameters:
        group = one.group if isinstance(one, Flag) else ""
        (found[GROUPS[group]] if group else rest).append(one)
    return {**found, "Help" if any(found.values()) else "Options": rest}


def _records(
    ctx: click.Context, parameters: Iterable[click.Parameter], aliases: bool
) -> Iterable[tuple[str, str]]:
    """Each flag, with its other names where ``aliases`` are shown, and its text."""
    for one in parameters:
        record = one.get_help_record(ctx)
        if record is None or not isinstance(one, click.Option):
            continue
        flag, text = record
        for alias in [] if aliases else [name for name in one.opts if name[:2] == "--"][1:]:
            flag = flag.replace(f", {alias}", "")
        if isinstance(one.type, click.Choice) and not one.metavar and len(flag) > _BESIDE:
            words = ", ".join(map(str, one.type.choices))
            flag, text = f"{flag.partition(' [')[0]} WORD", f"{text} One of {words}."
        yield flag, _with_default(text, _default(ctx, one))


def _default(ctx: click.Context, option: click.Option) -> Any:
    if isinstance(option, Flag) and option.told_default is not None:
        return option.told_default
    return None if option.is_flag else option.get_default(ctx, call=False)


def _with_default(text: str, default: Any) -> str:
    """``text``, which says the default; a value that is made up by a function has none to say."""
    if isinstance(default, tuple | list):
        default = ", ".join(map(str, default))
    if isinstance(default, bool) or not isinstance(default, str | int) or default == "":
        return text
    return text if "default" in text.lower() else f"{text} Default: {default}."


def _help_all(rare: int) -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            ctx.meta[_ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return click.Option(
        [HELP_ALL, _SHOW_ALL],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help=f"Show {rare} more flags as well and exit.",
    )

"""`launch scaling PROVIDER`: the same training at several sizes, and whether they are worth it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from launchers.cli.options import BEHIND, file_flags, job_flags, script_argument
from launchers.cli.studies.flags import SIZES, study_flags
from launchers.cli.verb import Flag, Verb
from launchers.cli.verb_group import VerbGroup
from launchers.core.registry import PROVIDERS, provider

_ABOUT = (
    "Run the same training at several sizes{where}, and say whether a larger one pays off: time an "
    "epoch, speed-up, efficiency, loss and accuracy with their spread, in a table, JSON, CSV, a "
    "page and pictures. The same command resumes a study that was stopped."
)


class _OnUse(dict[str, click.Command]):
    """The providers' commands by name, each made when it is asked for, with its module."""

    def __missing__(self, name: str) -> click.Command:
        self[name] = _study_command(name)
        return self[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in PROVIDERS else default

    def __iter__(self) -> Iterator[str]:
        return iter(PROVIDERS)

    def items(self) -> Any:
        return [(name, self[name]) for name in PROVIDERS]

    def values(self) -> Any:
        return [self[name] for name in PROVIDERS]


def _study_command(name: str) -> click.Command:
    """The click command that makes a study on the provider ``name``."""
    chosen = provider(name)
    sizes = "--gpus 1,4,8" if chosen.charges_money else "--processes 1,2,4"
    parameters: list[click.Parameter] = [
        script_argument(),
        *study_flags(chosen),
        *(flag for flag in job_flags(chosen) if flag.name not in SIZES),
        *file_flags(),
        Flag(
            ["--dry-run"],
            group="rehearsal",
            metavar="",
            help="Print the runs, with their jobs and hours at most, and start nothing.",
        ),
        Flag(["--json", "as_json"], group="output", is_flag=True, help="The answer as JSON."),
    ]

    def callback(**values: Any) -> int:
        from launchers.cli.studies.course import run_study

        context = click.get_current_context()
        return run_study(chosen, values, context.obj["arguments"], context.obj["words"])

    where = " on this machine" if chosen.runs_here else ""
    return Verb(
        name,
        callback=callback,
        params=parameters,
        short_help="On this machine." if chosen.runs_here else f"On {chosen.title}.",
        help=_ABOUT.format(where=where),
        examples=(
            f"launch scaling {name} train.py {sizes} -- --epochs 3",
            f"launch scaling {name} train.py {sizes} --dry-run",
        ),
        behind=BEHIND,
        context_settings={"ignore_unknown_options": True, "max_content_width": 100},
    )


command = VerbGroup(
    "scaling",
    commands=_OnUse(),
    help=_ABOUT.format(where=""),
    examples=(
        "launch scaling local train.py --processes 1,2,4 -- --epochs 3",
        "launch scaling vertex train.py --gpus 1,4,8 --image IMAGE --dry-run",
    ),
    runs_scripts="local",
)

"""What `launch rehearse` and `--dry-run=docker` share: flags, what is shown, the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.values import FlagType
from launchers.cli.verb import Flag
from launchers.core.model.jobs import SUCCEEDED, JobDefinition
from launchers.core.model.problems import (
    EXIT_INTERRUPTED,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_OK,
    LaunchError,
    Problem,
)
from launchers.core.provider import Provider
from launchers.core.source.bundle import SourceBundle
from launchers.core.spec.value_types import Count, Duration, Size, Text
from launchers.core.system import require_linux

_CLEAN = "launch rehearsals --clean"


def rehearsal_flags(rare: bool = True) -> list[click.Option]:
    """The flags that shape a rehearsal and never the document.

    Args:
        rare: Whether most of them are rare: beside the flags of a job.
    """
    return [
        Flag(
            ["--rehearsal-image", "rehearsal_image"],
            group="rehearsal",
            rare=rare,
            type=FlagType(Text()),
            metavar="IMAGE",
            help="Rehearse in this image instead of the document's.",
        ),
        Flag(
            ["--ranks-per-host", "ranks_per_host"],
            group="rehearsal",
            rare=rare,
            type=FlagType(Count(1, 512)),
            metavar="N",
            help="Rehearse with fewer ranks on each host.",
        ),
        Flag(
            ["--local-channel", "local_channels"],
            group="rehearsal",
            multiple=True,
            metavar="NAME=DIR",
            help="A channel's data from a folder of this machine (repeatable).",
        ),
        Flag(
            ["--with-credentials"],
            group="rehearsal",
            rare=rare,
            is_flag=True,
            help="Let the containers use this machine's AWS or Google Cloud credentials.",
        ),
        Flag(
            ["--interrupt-after", "interrupt_after"],
            group="rehearsal",
            rare=rare,
            type=FlagType(Duration(1, 86400)),
            metavar="30s",
            help="Interrupt the spot job this long after its proof, then restart it.",
        ),
        Flag(
            ["--memory-per-host", "memory"],
            group="rehearsal",
            rare=rare,
            type=FlagType(Size(1, 4096)),
            metavar="8GB",
            help="Memory of each container. Default: an equal part.",
        ),
    ]


def verbose_flag() -> click.Option:
    """For whatever shows a job's lines."""
    return Flag(
        ["--verbose"],
        group="output",
        is_flag=True,
        help="Show all of the job's lines.",
    )


def given_options(values: Mapping[str, Any]) -> Any:
    """The :class:`launchers.rehearsal.options.RehearsalOptions` of a command line."""
    from launchers.rehearsal.options import RehearsalOptions

    memory = values.get("memory")
    return RehearsalOptions(
        image=values.get("rehearsal_image"),
        local_channels=tuple(values.get("local_channels") or ()),
        source=values.get("source"),
        with_credentials=bool(values.get("with_credentials")),
        ranks_per_host=values.get("ranks_per_host"),
        interrupt_after=values.get("interrupt_after"),
        memory=memory * 1024**3 if memory else None,
        world_size=values.get("world_size"),
        despite_problems=bool(values.get("despite_problems")),
    )


def refuse_without_docker(values: Mapping[str, Any]) -> None:
    """The flags of :func:`rehearsal_flags` mean nothing but with ``--dry-run=docker``.

    Raises:
        LaunchError: One was given.
    """
    names = {option.name: option.opts[0] for option in rehearsal_flags()}
    given = [flag for name, flag in names.items() if name and values.get(name)]
    if given:
        raise LaunchError([RULES["flag-alone"].at(flag, "without a rehearsal") for flag in given])


def rehearse_and_say(
    provider: Provider,
    definition: JobDefinition,
    bundle: SourceBundle | None,
    options: Any,
    as_json: bool,
    facts: Any = None,
    verbose: bool = False,
) -> int:
    """Rehearse, show it while it runs, and give the exit code.

    Args:
        facts: About the job's script, a :class:`launchers.core.analysis.facts.SourceFacts`.
        verbose: Show what toolkits and frameworks print around a job, too.

    Raises:
        LaunchError: It could not start, or the provider has no containers.
    """
    if provider.contract is None:
        raise LaunchError(_without_containers(provider))
    require_linux("a rehearsal")
    from launchers.cli.show.rehearsal_screen import RehearsalScreen
    from launchers.rehearsal.run import rehearse

    screen = RehearsalScreen(provider.contract, as_json, verbose)
    try:
        result = rehearse(provider.contract, definition, bundle, options, screen, facts)
    except (KeyboardInterrupt, BrokenPipeError) as error:
        from launchers.cli.show.output import note_interrupted, say, say_interrupted
        from launchers.cli.show.streams import silence_stdout

        if isinstance(error, BrokenPipeError):  # the terminal, or whoever read the lines
            silence_stdout()
        screen.close()
        if screen.left_behind:
            say("interrupted")
            note_interrupted(definition.name, "something of the rehearsal is left", _CLEAN)
        else:
            say_interrupted(definition.name, "nothing of the rehearsal is left")
        return EXIT_INTERRUPTED
    screen.close()
    from launchers.cli.show.rehearsal_result import say_result, summary

    say_result(result, screen)
    if as_json:
        from launchers.cli.show.output import answer

        answer(summary(result, provider.name))
    return EXIT_OK if result.state == SUCCEEDED else EXIT_JOB_DID_NOT_SUCCEED


def _without_containers(provider: Provider) -> Problem:
    return RULES["no-rehearsal"].at(
        "--dry-run=docker",
        f"launch {provider.name}",
        fix=f"leave it out: `launch {provider.name}` already runs on {provider.title}",
    )

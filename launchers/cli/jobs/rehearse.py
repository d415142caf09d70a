"""What `launch rehearse` and `--dry-run=docker` share: flags, what is shown, the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.values import FlagType
from launchers.core.model.jobs import SUCCEEDED, JobDefinition, LogLine
from launchers.core.model.problems import (
    EXIT_INTERRUPTED,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_OK,
    LaunchError,
    Problem,
)
from launchers.core.output.lines import JobWatch
from launchers.core.provider import Provider
from launchers.core.source.bundle import SourceBundle
from launchers.core.spec.value_types import Count, Duration, Size


def rehearsal_flags() -> list[click.Option]:
    """The flags that shape a rehearsal and never the document."""
    return [
        click.Option(
            ["--rehearsal-image", "rehearsal_image"],
            metavar="IMAGE",
            help="Rehearse in this image instead of the document's.",
        ),
        click.Option(
            ["--ranks-per-host", "ranks_per_host"],
            type=FlagType(Count(1, 512)),
            metavar="N",
            help="Rehearse with fewer ranks on each host.",
        ),
        click.Option(
            ["--local-channel", "local_channels"],
            multiple=True,
            metavar="NAME=DIR",
            help="A channel's data from a folder of this machine (repeatable).",
        ),
        click.Option(
            ["--with-credentials"],
            is_flag=True,
            help="Let the containers use this machine's AWS or Google Cloud credentials.",
        ),
        click.Option(
            ["--interrupt-after", "interrupt_after"],
            type=FlagType(Duration(1, 86400)),
            metavar="30s",
            help="Take spot capacity back this long after the proof line, start again.",
        ),
        click.Option(
            ["--memory-per-host", "memory"],
            type=FlagType(Size(1, 4096)),
            metavar="8GB",
            help="Memory of each container. Default: an equal part.",
        ),
    ]


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
) -> int:
    """Rehearse, show it while it runs, and give the exit code.

    Raises:
        LaunchError: It could not start, or the provider has no containers.
    """
    if provider.contract is None:
        raise LaunchError(_without_containers(provider))
    from launchers.rehearsal.run import rehearse

    screen = RehearsalScreen(as_json)
    try:
        result = rehearse(provider.contract, definition, bundle, options, screen)
    except (KeyboardInterrupt, BrokenPipeError) as error:
        from launchers.cli.show.output import say, silence_stdout

        if isinstance(error, BrokenPipeError):  # the terminal, or whoever read the lines
            silence_stdout()
        screen.end()
        say("interrupted: nothing of the rehearsal is left")
        return EXIT_INTERRUPTED
    screen.end()
    from launchers.cli.show.rehearsal_result import say_result, summary

    say_result(result)
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


class RehearsalScreen:
    """Shows a rehearsal: what deviates first, then the job's lines.

    Args:
        as_json: Lines go to stderr, because stdout carries the answer.
    """

    def __init__(self, as_json: bool):
        from launchers.cli.jobs.follow import Screen

        self._screen = Screen(to_stderr=as_json)

    def plan(self, prepared: Any, labels: Any) -> None:
        """The deviations, before anything starts."""
        from launchers.cli.show.output import say, styled

        hosts = ", ".join(container.name for container in prepared.containers)
        say(f"{styled('rehearsal', 'bold')}  {labels.job} in containers on this machine: {hosts}")
        for text in prepared.deviations:
            say(f"  {styled('deviation', 'yellow')}  {text}")
        if prepared.limits.memory:
            say(f"  memory     {prepared.limits.memory / 1024**3:.1f} GiB a host")
        say(f"  id         {labels.id}")

    def note(self, text: str) -> None:
        """A line for a person."""
        from launchers.cli.show.output import say

        say(text)

    def line(self, line: LogLine, watch: JobWatch) -> None:
        """A line of the job."""
        self._screen.show(line, watch)

    def end(self) -> None:
        """Leave the last line clean."""
        self._screen.end()

"""Has the image what the job's start needs? Looked into before the first container of the job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from launchers.core.analysis.facts import SourceFacts
from launchers.core.model.containers import Container
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.strategies import FIRST
from launchers.core.strategies.strategy import Strategy
from launchers.image.check import MISSING, CheckedImage, Row
from launchers.image.quick_look import quick_look
from launchers.image.recipes import RECIPES
from launchers.rehearsal.staging.script_reading import unreadable

_PACKAGE_RULE = "image-strategy"
_PYTHON = "python"
_INSTALLS = re.compile(r"\b(?:pip3?|conda|mamba|uv)\b.*\binstall\b")


def refuse_unfit(
    client: Any,
    containers: Sequence[Container],
    needed: Sequence[str],
    provider: str,
    strategy: Strategy,
    facts: SourceFacts | None,
    recipe: str = "",
) -> None:
    """Look into the images and read the script; blocks for a second, the first time.

    What the job's containers install themselves may be missing.

    Args:
        needed: Rows of `launch image check` without which the start surely fails.
        facts: About the job's script, where it is known.
        recipe: Of ours that the service's containers need, over an image with the rest; or nothing.

    Raises:
        LaunchError: All that would end the ranks; exit code 2.
    """
    installs = _installs(containers, facts)
    problems: list[Problem] = []
    for image in dict.fromkeys(container.image for container in containers):
        looked = quick_look(client, image, strategy.name)
        lacks = [row for row in looked.rows if _stops(row, needed, strategy, installs)]
        problems += [_told(looked, row, provider) for row in lacks]
        if lacks:
            problems[-1] = _with_ways_on(problems[-1], image, strategy, recipe)
        if facts is not None and image == containers[0].image:
            problems += unreadable(client, image, _python(looked), facts)
    stopping = [one for one in problems if one.severity == "error"]
    if stopping:
        raise LaunchError(problems)


def _stops(row: Row, needed: Sequence[str], strategy: Strategy, installs: bool) -> bool:
    is_package = row.need.rule == _PACKAGE_RULE or row.need.name == strategy.name == FIRST
    if row.state != MISSING or (is_package and installs):
        return False
    return row.need.rule == _PACKAGE_RULE or row.need.name in needed


def _told(looked: CheckedImage, row: Row, provider: str) -> Problem:
    """In the words of `launch image check`."""
    providers = (provider,) if provider in row.need.providers else row.need.providers
    return replace(looked, rows=(row,)).problems(providers)[0]


def _with_ways_on(problem: Problem, image: str, strategy: Strategy, recipe: str) -> Problem:
    ours = "" if strategy.name == FIRST else f" --with {strategy.name}"
    built = f"; `launch image build{ours}` makes one" if strategy.name in RECIPES else ""
    if built and recipe:
        built += f", and `launch image build --with {recipe} --base IMAGE` one over that"
    more = f"`launch image check {image}` tells all that it lacks{built}"
    return replace(problem, fix=f"{problem.fix}; {more}")


def _python(looked: CheckedImage) -> str:
    return next((row.found for row in looked.rows if row.need.name == _PYTHON), "")


def _installs(containers: Sequence[Container], facts: SourceFacts | None) -> bool:
    """Whether ranks may find packages that the image lacks: a requirements.txt that the containers'
    own tools install, or a command that does."""
    words = {" ".join((*one.entrypoint, *one.command)) for one in containers}
    has_file = facts is not None and "requirements.txt" in facts.texts
    return has_file or any(_INSTALLS.search(text) for text in words)

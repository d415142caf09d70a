"""What a strategy cannot do with the hosts and processes that were asked for."""

from __future__ import annotations

from dataclasses import replace

from launchers.core.analysis.facts import SourceFacts
from launchers.core.analysis.strategy_search import Place, first_place
from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.spec.job import JobSpec
from launchers.core.strategies.strategy import Strategy


def limits_of(
    strategy: Strategy, job: JobSpec, facts: SourceFacts | None, asked: bool
) -> list[Problem]:
    """Why the strategy's ranks would be none of one job.

    Args:
        facts: About the script; None where there is none.
        asked: The user has named the strategy, and then the source is not looked at.
    """
    problems = []
    if strategy.one_a_host and job.processes not in (None, 1):
        problems.append(
            RULES["strategy-processes"].at(
                "--processes",
                f"{job.processes}, and {strategy.title} has one process a host",
                fix="leave --processes out; --gpus says how many replicas a host has",
            )
        )
    if job.instances > 1 and facts is not None and not asked:
        place = _of_one_host(strategy, facts)
        if place is not None:
            problems.append(
                RULES["strategy-one-host"].at(
                    job.script or facts.script,
                    f"{place.use.title} ({place.why}), on {job.instances} hosts",
                    f"a strategy of {job.instances} hosts",
                    f"{place.use.one_host}; --instances 1 runs it on one",
                )
            )
    return problems


def _of_one_host(strategy: Strategy, facts: SourceFacts) -> Place | None:
    """Where the source joins the devices of one host, and nothing that joins several hosts."""
    if not any(use.one_host for use in strategy.uses):
        return None
    found = [first_place(facts, replace(strategy, uses=(use,))) for use in strategy.uses]
    places = [place for place in found if place is not None]
    if not places or not all(place.use.one_host for place in places):
        return None
    return places[0]

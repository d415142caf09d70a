"""What a study may take, and what a run took: machine-hours and US dollars, where they are known.

There is no table of prices here: they differ by region, contract and day. `--price` names one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launchers.core.model.jobs import JobStatus
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.planning.plan import Plan
from launchers.scaling.catalogue import RULES
from launchers.scaling.planned import Planned, StudyPlan


def prices_of(plan: StudyPlan, given: Sequence[tuple[str, float]]) -> dict[str, float]:
    """US dollars an hour of one instance, by machine type; empty where none is given.

    Args:
        given: Machine type, or an empty text for the one that there is, and its price.

    Raises:
        LaunchError: A price is for no machine of the study, or for several at once.
    """
    machines = sorted({run.plan.machine_name for run in plan.runs} - {""})
    found: dict[str, float] = {}
    problems = []
    for machine, price in given:
        path = f"--price {machine}".strip()
        if not machine and len(machines) != 1:
            each = " ".join(f"--price {one}=USD" for one in machines)
            told = f"{price:g} for {', '.join(machines)}"
            problems.append(RULES["scaling-price"].at(path, told, "one for each machine", each))
        elif machine and machine not in machines:
            expected = "one of " + ", ".join(machines)
            problems.append(RULES["scaling-price"].at(path, "no machine of the study", expected))
        elif found.setdefault(machine or machines[0], price) != price:
            problems.append(RULES["scaling-price"].at(path, "two prices", "one for each machine"))
    if problems:
        raise LaunchError(problems)
    return found


def machine_hours(plan: Plan) -> float | None:
    """Instance-hours that a job may take until its time limit ends it; None without one."""
    limit = plan.time_limit
    return None if limit is None else plan.instances * limit / 3600


def hours_at_most(runs: Sequence[Planned]) -> float | None:
    """Instance-hours of all runs; None where nothing limits one of them."""
    hours = [machine_hours(run.plan) for run in runs]
    known = [one for one in hours if one is not None]
    return sum(known) if len(known) == len(hours) else None


def cost_at_most(runs: Sequence[Planned], prices: Mapping[str, float]) -> float | None:
    """US dollars of all runs; None where a price or a limit is not known."""
    costs = []
    for run in runs:
        hours, price = machine_hours(run.plan), prices.get(run.plan.machine_name)
        if hours is None or price is None:
            return None
        costs.append(hours * price)
    return sum(costs)


def cost_of(
    status: JobStatus, instances: int, machine: str, prices: Mapping[str, float]
) -> float | None:
    """US dollars of a job that has ended; None where the price or the time is not known.

    Args:
        status: Of the job. SageMaker bills ``BillableTimeInSeconds`` for each instance
            (DescribeTrainingJob); elsewhere it is the time from start to end.
        prices: US dollars an hour of one instance, by machine type.
    """
    price, details = prices.get(machine), status.details
    seconds = details.get("billable_seconds")
    if seconds is None and details.get("started") and details.get("ended"):
        seconds = details["ended"] - details["started"]
    if price is None or seconds is None:
        return None
    return float(price * instances * seconds / 3600)


def not_agreed(found: str, fix: str | None = None) -> Problem:
    """Nobody agreed to what a study costs."""
    return RULES["scaling-consent"].at("--yes", found, fix=fix)

"""How a CustomJob queues, how long it may run, and what restarts it.

Source: the API's Scheduling and ReservationAffinity; Vertex AI's pages on Dynamic Workload
Scheduler (FLEX_START) and on Spot VMs; Compute Engine's page on reservations.
"""

from __future__ import annotations

import re

from launchers.core.model.document import at, mapping
from launchers.core.model.problems import Problem, Severity
from launchers.core.spec.value_types import format_duration
from launchers.vertex.catalogue import RULES
from launchers.vertex.document import seconds_of
from launchers.vertex.rules.pools import Pool, pools, rank_replicas, said
from launchers.vertex.rules.starts import world
from launchers.vertex.tables import machines

_PATH = "$.jobSpec.scheduling"
LONGEST_FLEX_START_SECONDS = 7 * 86400
_SPARE = ("SPOT", "FLEX_START")
# ReservationAffinity.values: the full name of a reservation, or of blocks of one.
_RESERVATION = re.compile(
    r"projects/[a-z0-9.:-]+/zones/(?P<location>[a-z]+-[a-z]+\d+)-[a-z]/reservations/[a-z0-9-]+(/.+)?"
)


def check_scheduling(document: object, ours: bool) -> list[Problem]:
    """Rules over strategy, times, restarts and reservations."""
    return [
        *_times(document),
        *_flex_start(document),
        *_strategy(document, ours),
        *_reservations(document, ours),
        *_restarts(document, ours),
    ]


def strategy_of(document: object) -> str:
    """The scheduling strategy, STANDARD where none is named (the API's default)."""
    return said(at(document, "jobSpec", "scheduling", "strategy")) or "STANDARD"


def seconds(document: object, key: str) -> float | None:
    """A duration of the scheduling; None where it is missing or of the wrong form."""
    return seconds_of(at(document, "jobSpec", "scheduling", key))


def _times(document: object) -> list[Problem]:
    problems = []
    timeout, wait = seconds(document, "timeout"), seconds(document, "maxWaitDuration")
    if timeout is not None and timeout <= 0:
        problems.append(RULES["timeout-positive"].at(f"{_PATH}.timeout", f"{timeout:g}s"))
    if wait is not None and wait < 0:
        where = f"{_PATH}.maxWaitDuration"
        expected = "a time, or 0s to wait without an end"
        problems.append(RULES["max-wait"].at(where, f"{wait:g}s", expected))
    if wait is not None and strategy_of(document) != "FLEX_START":
        problems.append(
            RULES["max-wait"].at(
                f"{_PATH}.maxWaitDuration",
                f"with the strategy {strategy_of(document)}",
                "the strategy FLEX_START",
                "no other strategy ends a wait for machines",
                severity="warning",
            )
        )
    return problems


def _flex_start(document: object) -> list[Problem]:
    if strategy_of(document) != "FLEX_START":
        return []
    problems = []
    timeout = seconds(document, "timeout")
    if timeout is not None and timeout > LONGEST_FLEX_START_SECONDS:
        most = format_duration(LONGEST_FLEX_START_SECONDS)
        found = f"{format_duration(timeout)} with FLEX_START"
        fix = f"--max-runtime {most}, or no --flex-start"
        problems.append(RULES["flex-start"].at(f"{_PATH}.timeout", found, f"at most {most}", fix))
    able = [entry.name for entry in machines.accelerators().values() if entry.flex_start]
    found_pools = pools(document)
    for pool in found_pools:
        machine = machines.machine(pool.machine_type)
        kind = pool.accelerator or (machine.accelerator if machine else "")
        where = f"{pool.path}.machineSpec"
        if pool.spec.get("machineSpec") != found_pools[0].spec.get("machineSpec"):
            found = "other machines than in the first pool, with FLEX_START"
            expected = "the same machineSpec in all pools"
            fix = "" if pool.holds_ranks else "no reduction servers, or no FLEX_START"
            problems.append(RULES["flex-start"].at(where, found, expected, fix))
        elif kind not in able and (kind or machine is not None):
            found = f"{kind or pool.machine_type} with FLEX_START"
            problems.append(RULES["flex-start"].at(where, found, f"one of {', '.join(able)}"))
    return problems


def _strategy(document: object, ours: bool) -> list[Problem]:
    problems = []
    strategy = strategy_of(document)
    if at(document, "jobSpec", "persistentResourceId"):
        if strategy in _SPARE:
            where, found = f"{_PATH}.strategy", f"{strategy}, on a persistent resource"
            fix = "its machines are there already"
            severity: Severity = "error" if ours else "warning"
            problems.append(
                RULES["persistent-strategy"].at(where, found, fix=fix, severity=severity)
            )
        return problems + _reserved_and_persistent(document, ours)
    for pool in pools(document):
        machine = machines.machine(pool.machine_type)
        if machine is None:
            continue
        path = f"{pool.path}.machineSpec"
        if machine.only and strategy not in machine.only:
            found = f"{strategy}, with {machine.name}"
            expected = " or ".join(machine.only)
            fix = "--spot or --flex-start"
            problems.append(RULES["strategy-machine"].at(f"{_PATH}.strategy", found, expected, fix))
        if machine.reservation and pool.reservation != "SPECIFIC_RESERVATION":
            where = f"{path}.reservationAffinity"
            found = pool.reservation or "missing"
            expected = f"a SPECIFIC_RESERVATION: {machine.name} is available in no other way"
            problems.append(RULES["reservation"].at(where, found, expected, "--reservation"))
    return problems


def _reserved_and_persistent(document: object, ours: bool) -> list[Problem]:
    """A reservation gives a job machines, and those of a persistent resource are there already."""
    severity: Severity = "error" if ours else "warning"
    reserved = [pool for pool in pools(document) if pool.reservation]
    return [
        RULES["persistent-reservation"].at(
            f"{pool.path}.machineSpec.reservationAffinity",
            f"{pool.reservation}, on a persistent resource",
            severity=severity,
        )
        for pool in reserved[:1]
    ]


def _reservations(document: object, ours: bool) -> list[Problem]:
    problems = []
    strategy = strategy_of(document)
    told: set[str] = set()
    for pool in pools(document):
        path = f"{pool.path}.machineSpec.reservationAffinity"
        if pool.reservation and strategy in _SPARE and pool.reservation not in told:
            told.add(pool.reservation)  # All pools mostly say the same.
            # ANY_RESERVATION falls back to machines outside of any.
            specific = pool.reservation == "SPECIFIC_RESERVATION"
            severity: Severity = "error" if specific or ours else "warning"
            found = f"{pool.reservation} with {strategy}"
            expected = "one of the two"
            fix = "machines of a reservation are paid for already, and are no spare capacity"
            problems.append(
                RULES["reservation-strategy"].at(path, found, expected, fix, severity=severity)
            )
        affinity = mapping(mapping(pool.spec, "machineSpec"), "reservationAffinity")
        if pool.reservation == "SPECIFIC_RESERVATION":
            for key in ("key", "values"):
                if not affinity.get(key):
                    expected = "what names the reservation"
                    problems.append(RULES["reservation"].at(f"{path}.{key}", "missing", expected))
        for index, name in enumerate(reservations(pool)):
            if name not in told and not _RESERVATION.fullmatch(name):
                where, expected = f"{path}.values[{index}]", "its full name"
                fix = (
                    f"projects/PROJECT/zones/ZONE/reservations/{name.rpartition('/')[2] or 'NAME'}"
                )
                problems.append(RULES["reservation"].at(where, name[:80], expected, fix))
            told.add(name)
    return problems


def check_reservation_location(document: object, location: str) -> list[Problem]:
    """Reservations in a zone of another place than the job's.

    Args:
        location: Where the job is sent, ``us-central1``.
    """
    problems: dict[str, Problem] = {}
    for pool in pools(document):
        for index, name in enumerate(reservations(pool)):
            match = _RESERVATION.fullmatch(name)
            if match and match["location"] != location:
                where = f"{pool.path}.machineSpec.reservationAffinity.values[{index}]"
                found = f"in {match['location']}, for a job in {location}"
                expected = f"one in {location}"
                problems.setdefault(name, RULES["location"].at(where, found, expected))
    return list(problems.values())


def reservations(pool: Pool) -> list[str]:
    """The names of reservations that a pool's machines come from."""
    values = at(pool.spec, "machineSpec", "reservationAffinity", "values")
    return [name for name in values if isinstance(name, str)] if isinstance(values, list) else []


def _restarts(document: object, ours: bool) -> list[Problem]:
    scheduling = mapping(mapping(document, "jobSpec"), "scheduling")
    restart = scheduling.get("restartJobOnWorkerRestart") is True
    disabled = scheduling.get("disableRetries") is True
    # Of a job from elsewhere only what is known to be one world over several hosts.
    several = (rank_replicas(document) or 0) > 1 if ours else world(document).spans
    problems = []
    if several and not restart and not disabled:
        problems.append(
            RULES["restart-job"].at(
                f"{_PATH}.restartJobOnWorkerRestart",
                "missing" if "restartJobOnWorkerRestart" not in scheduling else "false",
                "true",
                "the service starts a failed replica again in its place, and ranks that have "
                "begun take none in: the others wait for it",
                severity="error" if ours else "warning",
            )
        )
    if restart and disabled and not ours:
        found = "true, with restartJobOnWorkerRestart"
        fix = "disableRetries wins, and nothing restarts"
        problems.append(
            RULES["restart-job"].at(
                f"{_PATH}.disableRetries", found, "one of the two", fix, severity="warning"
            )
        )
    if disabled and strategy_of(document) == "SPOT":
        fix = "the first machine that is taken back ends the job"
        problems.append(
            RULES["spot-retries"].at(f"{_PATH}.disableRetries", "true with SPOT", fix=fix)
        )
    return problems

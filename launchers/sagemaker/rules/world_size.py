"""How many ranks a request really starts, against how many were meant."""

from __future__ import annotations

from dataclasses import dataclass

from launchers.core.model.document import at, mapping, whole_number
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import counted, spread
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import (
    MPI_ENABLED,
    MPI_PROCESSES,
    MPI_PROCESSES_PER_HOST,
    hyperparameter,
    instances,
    processes_per_host,
    uses_mpi,
)
from launchers.sagemaker.rules.entrypoint import check_entrypoint, starts_toolkit

_HYPER = "$.HyperParameters"
_LAUNCH = "$.Environment.LAUNCH_WORLD_SIZE"


@dataclass(frozen=True)
class Started:
    """What a request starts: ranks of one job, None where it cannot be told; and why."""

    ranks: int | None
    because: str


def start_of(document: object) -> Started:
    """Ranks that the toolkit starts in one MPI job: instances x processes per host; 1 without
    MPI, since every host then runs a job of its own. None where the document doesn't say, as with
    a ContainerEntrypoint that takes the toolkit's place."""
    if not starts_toolkit(document):
        return Started(None, "a command of its own takes the place of the toolkit")
    if not uses_mpi(document):
        return Started(1, "no MPI, so each host runs the program by itself")
    hosts, ranks = instances(document), processes_per_host(document)
    if hosts is None or ranks is None:
        return Started(None, "the number of hosts or of processes on each is not said")
    return Started(hosts * ranks, f"MPI over {spread(hosts, ranks)}")


def started_world_size(document: object) -> int | None:
    """The ranks of :func:`start_of`."""
    return start_of(document).ranks


def check_world_size(document: object, expected: int | None) -> list[Problem]:
    """Everything that makes the job's world size another than the one that was meant.

    Args:
        expected: ``--world-size``, or None.
    """
    problems = _mpi_switch(document) + _mpi_counts(document)
    started = started_world_size(document)
    carried_text = at(document, "Environment", "LAUNCH_WORLD_SIZE")
    carried = whole_number(carried_text)
    if carried_text is not None and carried is None:
        problems.append(RULES["world-size"].at(_LAUNCH, repr(carried_text)[:40], "a whole number"))
    if expected is not None and carried is not None and expected != carried:
        problems.append(
            RULES["world-size"].at("--world-size", str(expected), f"{carried}, as {_LAUNCH} says")
        )
    meant = carried if carried is not None else expected
    if meant is not None and started is not None and started != meant:
        problems.append(_mismatch(document, started, meant))
    elif meant is None and started == 1 and (instances(document) or 1) > 1:
        problems.append(_mismatch(document, 1, instances(document) or 1))
    return problems + check_entrypoint(document, meant)


def _mismatch(document: object, started: int, meant: int) -> Problem:
    hosts = instances(document) or 0
    if not uses_mpi(document):
        alone = (
            "one job" if hosts == 1 else f"{counted(hosts, 'job')} that know nothing of each other"
        )
        return RULES["world-size"].at(
            f"{_HYPER}.{MPI_ENABLED}",
            f"no MPI: {alone}, each of world size 1, and status Completed",
            f"one job of world size {meant}",
            f'set {MPI_ENABLED} to "true" and {MPI_PROCESSES_PER_HOST} to the ranks of each host',
        )
    ranks = processes_per_host(document)
    return RULES["world-size"].at(
        f"{_HYPER}.{MPI_PROCESSES_PER_HOST}",
        f"{counted(hosts, 'host')} x {counted(ranks or 0, 'rank')} = world size {started}",
        f"world size {meant}",
        f"InstanceCount x {MPI_PROCESSES_PER_HOST} must give it",
    )


def _mpi_switch(document: object) -> list[Problem]:
    text = at(document, "HyperParameters", MPI_ENABLED)
    if text is None or text == "true":
        return []
    return [RULES["mpi-enabled"].at(f"{_HYPER}.{MPI_ENABLED}", str(text)[:40])]


def _mpi_counts(document: object) -> list[Problem]:
    problems = []
    if MPI_PROCESSES in mapping(document, "HyperParameters"):
        problems.append(
            RULES["mpi-processes"].at(
                f"{_HYPER}.{MPI_PROCESSES}",
                str(hyperparameter(document, MPI_PROCESSES))[:40],
                "the key left out",
                "it overrides hosts x processes: with 1, mpirun starts a single rank",
            )
        )
    if not uses_mpi(document):
        return problems
    ranks = hyperparameter(document, MPI_PROCESSES_PER_HOST)
    if whole_number(ranks) is None or int(whole_number(ranks) or 0) < 1:
        problems.append(
            RULES["mpi-processes"].at(
                f"{_HYPER}.{MPI_PROCESSES_PER_HOST}",
                "missing" if ranks is None else str(ranks)[:40],
                "the ranks of each host, a whole number from 1",
            )
        )
    return problems

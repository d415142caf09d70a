"""How many ranks a request really starts, against how many were meant."""

from __future__ import annotations

from launchers.core.model.document import MOST_RANKS, at, mapping, rank_count
from launchers.core.model.problems import Problem, Severity, did_you_mean
from launchers.core.planning.plan import counted
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import (
    MPI_ENABLED,
    MPI_OPTIONS,
    MPI_PREFIX,
    MPI_PROCESSES,
    MPI_PROCESSES_PER_HOST,
    PROCESSES,
    hyperparameter,
    instances,
    processes_per_host,
    uses_mpi,
)
from launchers.sagemaker.starts.agent import WAY as AGENT
from launchers.sagemaker.starts.alone import advice
from launchers.sagemaker.starts.command import starts_toolkit
from launchers.sagemaker.starts.start import Start, ranks_on
from launchers.sagemaker.starts.ways import switched_on, ways

_HYPER = "$.HyperParameters"
_ENTRYPOINT = "$.AlgorithmSpecification.ContainerEntrypoint"
_LAUNCH = "$.Environment.LAUNCH_WORLD_SIZE"
_NUMBER = f"a whole number from 1 to {MOST_RANKS:,}"
# How near a key is to one of the toolkit's where it was meant as that one (difflib's ratio).
_ALIKE = 0.85
# Keys of the toolkit and the SDK that resemble such a one (sagemaker 2.257: estimator.py).
_NO_SWITCHES = ("sagemaker_distributed_dataparallel_custom_mpi_options",)
# Texts that a person who wrote them meant as no, and that Python takes as true.
_MEANT_AS_NO = ("false", "no", "off", "0", "none", "null", "disabled")


def check_world_size(
    document: object, start: Start, expected: int | None, ours: bool
) -> list[Problem]:
    """Everything that makes the job's world size another than the one that was meant.

    Args:
        start: What the document starts.
        expected: ``--world-size``, or None.
        ours: Whether the document carries LAUNCH_WORLD_SIZE.
    """
    problems = _switches(document, ours) + _mpi_counts(document, start, ours)
    if starts_toolkit(document):
        problems += _beside(document, start) + _misspelt(document)
    carried_text = at(document, "Environment", "LAUNCH_WORLD_SIZE")
    carried = rank_count(carried_text)
    if carried_text is not None and carried is None:
        problems.append(RULES["world-size"].at(_LAUNCH, repr(carried_text)[:40], _NUMBER))
    if expected is not None and carried is not None and expected != carried:
        problems.append(
            RULES["world-size"].at("--world-size", str(expected), f"{carried}, as {_LAUNCH} says")
        )
    problems += start.problems
    meant = carried if carried is not None else expected
    if meant is not None and start.ranks != meant and not start.problems:
        problems += _mismatch(document, start, meant)
    return problems


def _mismatch(document: object, start: Start, meant: int) -> list[Problem]:
    if start.ranks is None and not start.once:
        if meant == 1:
            return []
        path = f"{_HYPER}.{MPI_PROCESSES_PER_HOST}"
        if start.way == AGENT:
            path = f"$.Environment.{PROCESSES}"
        elif not starts_toolkit(document):
            path = _ENTRYPOINT
        cause = f"cannot tell what it starts: {start.because}"
        return [RULES["world-size"].at(path, cause, f"world size {meant}", severity="unknown")]
    if start.ranks is None:
        if meant == 1:
            return []
        cause = f"{start.because}; nothing in the request starts more"
        return [_without_distribution(document, cause, meant)]
    if start.way == "plain":
        return [_without_distribution(document, start.because, meant)]
    if start.way == "mpi":
        hosts, ranks = instances(document), processes_per_host(document)
        found = start.because
        if hosts and ranks and hosts * ranks == start.ranks:
            found = f"{counted(hosts, 'host')} x {counted(ranks, 'rank')}"
        path, fix = MPI_PROCESSES_PER_HOST, f"InstanceCount x {MPI_PROCESSES_PER_HOST} must give it"
        found = f"{found} = world size {start.ranks}"
        return [RULES["world-size"].at(f"{_HYPER}.{path}", found, f"world size {meant}", fix)]
    way = ways().get(start.way)
    if start.way == AGENT:
        found = f"{start.because} = world size {start.ranks}"
        return [RULES["world-size"].at(f"$.Environment.{PROCESSES}", found, f"world size {meant}")]
    path = f"{_HYPER}.{way.flag}" if way is not None else _HYPER
    if not starts_toolkit(document):
        path = _ENTRYPOINT
    found = f"{start.because} = world size {start.ranks}"
    return [RULES["world-size"].at(path, found, f"world size {meant}")]


def _without_distribution(document: object, cause: str, meant: int) -> Problem:
    expected, fix = f"one job of world size {meant}", advice(document)
    return RULES["world-size"].at(f"{_HYPER}.{MPI_ENABLED}", cause, expected, fix)


def _switches(document: object, ours: bool) -> list[Problem]:
    """Flags whose text is another than "true" and means more, or less, than it seems."""
    problems = []
    for way in ways().values():
        text = at(document, "HyperParameters", way.flag)
        if not isinstance(text, str) or text == "true":
            continue
        is_on = bool(hyperparameter(document, way.flag))
        rule = RULES["mpi-enabled" if way.flag == MPI_ENABLED else "distribution-flag"]
        path, found = f"{_HYPER}.{way.flag}", text[:40]
        if is_on and str(hyperparameter(document, way.flag)).lower() in _MEANT_AS_NO:
            problems.append(rule.at(path, f"{found}, which the toolkit takes as true"))
        elif ours:
            problems.append(rule.at(path, found))
        elif is_on:
            problems.append(rule.at(path, found, severity="warning"))
    return problems


def _beside(document: object, start: Start) -> list[Problem]:
    """Ways that are switched on beside the one that the toolkit takes."""
    way = ways().get(start.way)
    others = [one for one in switched_on(document) if way is not None and one != way]
    told = {problem.path for problem in start.problems}
    problems = []
    for other in others:
        path = f"{_HYPER}.{other.flag}"
        if path not in told and way is not None:
            found = f"on together with {way.flag}, which the toolkit follows"
            # One process on each host, or one for each GPU: the script was written for one of them.
            severity: Severity = "warning" if other.processes == way.processes else "error"
            problems.append(RULES["distribution-several"].at(path, found, severity=severity))
    return problems


def _misspelt(document: object) -> list[Problem]:
    """Keys that look like one of the toolkit's, which passes over what it does not know."""
    from launchers.sagemaker.starts.groups import TOGETHER

    known = {MPI_PROCESSES, MPI_PROCESSES_PER_HOST, MPI_OPTIONS, TOGETHER}
    known |= {way.flag for way in ways().values()}
    problems = []
    for name in mapping(document, "HyperParameters"):
        if not name.lower().startswith("sagemaker_") or name in {*known, *_NO_SWITCHES}:
            continue
        hint = did_you_mean(name, known, _ALIKE)
        if hint or name.startswith(MPI_PREFIX):
            found = "a key that the toolkit ignores"
            problems.append(RULES["distribution-key"].at(f"{_HYPER}.{name}", found, fix=hint))
    return problems


def _mpi_counts(document: object, start: Start, ours: bool) -> list[Problem]:
    problems = []
    said = hyperparameter(document, MPI_PROCESSES)
    placed = ranks_on(start.placed)
    if MPI_PROCESSES in mapping(document, "HyperParameters") and (ours or said != placed):
        problems.append(
            RULES["mpi-processes"].at(
                f"{_HYPER}.{MPI_PROCESSES}",
                str(said)[:40],
                "the key left out",
                "it overrides hosts x processes: with 1, mpirun starts a single rank",
            )
        )
    if not uses_mpi(document) or not starts_toolkit(document):
        return problems
    ranks = hyperparameter(document, MPI_PROCESSES_PER_HOST)
    absent = MPI_PROCESSES_PER_HOST not in mapping(document, "HyperParameters")
    # A JSON text of a number cannot be multiplied by several hosts.
    repeated = isinstance(ranks, str) and start.ranks is None
    if (absent and not ours) or start.way == "unknown":
        return problems  # the toolkit starts one a GPU; the value is not known yet
    count = rank_count(ranks)
    if repeated or count is None or count < 1:
        problems.append(
            RULES["mpi-processes"].at(
                f"{_HYPER}.{MPI_PROCESSES_PER_HOST}",
                "missing" if ranks is None else str(ranks)[:40],
                f"the ranks of each host, {_NUMBER}",
            )
        )
    return problems

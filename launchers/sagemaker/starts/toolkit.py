"""What the training toolkit of an AWS image starts: `train`, the container's own command.

Source: sagemaker-training 5.1.4 (trainer.py, runner.py, environment.py, mpi.py,
torch_distributed.py, smdataparallel.py, pytorch_xla.py) and the framework modules that ways.json
names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from launchers.core.model.document import at, rank_count
from launchers.core.model.problems import Problem, errors
from launchers.core.model.unknown import Unknown
from launchers.core.planning.plan import counted
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import (
    MPI_OPTIONS,
    MPI_PROCESSES,
    MPI_PROCESSES_PER_HOST,
    PROGRAM,
    hyperparameter,
)
from launchers.sagemaker.starts import alone
from launchers.sagemaker.starts.groups import (
    TOGETHER,
    Group,
    clusters,
    groups_of,
    hosts_of,
    hosts_text,
    named,
)
from launchers.sagemaker.starts.start import Start, ranks_on, spread_text
from launchers.sagemaker.starts.ways import Way, known_to, module_of, switched_on, ways

_HYPER = "$.HyperParameters"
_STEERING = (PROGRAM, MPI_PROCESSES, MPI_PROCESSES_PER_HOST, TOGETHER)


def start_by_toolkit(document: object) -> Start:
    """What the toolkit makes of the request's hyperparameters."""
    groups = groups_of(document)
    unread = _unread(document)
    if unread:
        why = f"{unread} has its value only when the request is made"
        return Start("unknown", None, why)
    on = switched_on(document)
    if not on:
        return alone.start(document, groups)
    module = module_of(document)
    if module is None:
        return _in_unknown_image(document, groups, on)
    way = next((one for one in known_to(module) if one in on and _applies(one, groups)), None)
    if way is None:
        ignored = [one for one in on if one not in known_to(module)]
        if not ignored:
            return alone.start(document, groups)
        return _ignored(document, groups, ignored[0], module)
    if _too_old(document, way):
        why = f"the image's toolkit is older than {way.title}, which came with {way.since}"
        return Start("unknown", None, why)
    return _by(way, document, groups)


def _unread(document: object) -> str:
    """The steering hyperparameter whose value is no text: an expression that something else
    fills in."""
    values = at(document, "HyperParameters")
    if not isinstance(values, Mapping):
        return ""
    names = (*_STEERING, *(way.flag for way in ways().values()))
    return next((name for name in names if name in values and _is_open(values[name])), "")


def _is_open(value: object) -> bool:
    return isinstance(value, Unknown) or (isinstance(value, Mapping | list) and bool(value))


def _applies(way: Way, groups: Sequence[Group]) -> bool:
    # One host has no parameter servers: the module then starts it as if the flag were not there.
    hosts = hosts_of(groups)
    return way.name != "parameter_server" or (hosts is not None and hosts > 1)


def _too_old(document: object, way: Way) -> bool:
    from launchers.sagemaker.tables import images

    uri = at(document, "AlgorithmSpecification", "TrainingImage")
    image = images.parse(uri) if way.since and isinstance(uri, str) else None
    if image is None or not image.version:
        return False
    return _numbers(image.version) < _numbers(way.since)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _in_unknown_image(document: object, groups: Sequence[Group], on: Sequence[Way]) -> Start:
    """Every module obeys MPI, as the bare toolkit does; of the rest nothing is known."""
    if on[0].name == "mpi":
        return _by(on[0], document, groups)
    why = (
        f"{on[0].flag} does nothing in an image without AWS's framework module, and it is not "
        "known whether this one has it; without it each host runs the program by itself"
    )
    return Start("unknown", None, why)


def _ignored(document: object, groups: Sequence[Group], way: Way, module: str) -> Start:
    """A flag that this image's module does not look at."""
    start = alone.start(document, groups)
    what = {"pytorch": "a PyTorch image", "tensorflow": "a TensorFlow image"}
    where = what.get(module, "an image without a framework module")
    problem = RULES["distribution-ignored"].at(
        f"{_HYPER}.{way.flag}", f"on in {where}, whose toolkit does not look at it"
    )
    because = f"{way.flag} does nothing in {where}; {start.because}"
    # The hosts apart are its consequence.
    return start._replace(because=because, problems=(problem,))


def _by(way: Way, document: object, groups: Sequence[Group]) -> Start:
    if way.python_only and not str(hyperparameter(document, PROGRAM) or ".py").endswith(".py"):
        found = str(hyperparameter(document, PROGRAM))[:60]
        problem = RULES["program-python"].at(f"{_HYPER}.{PROGRAM}", f"{found}, with {way.title}")
        return Start(way.name, None, f"{way.title} refuses {found}", problems=(problem,))
    try:
        together, apart = clusters(document, groups)
    except TypeError:
        problem = _groups_problem(str(hyperparameter(document, TOGETHER))[:60], groups)
        return Start(way.name, None, f"{TOGETHER} is no list", problems=(problem,))
    if not together:
        found = str(hyperparameter(document, TOGETHER))[:60]
        start = alone.start(document, groups)
        return start._replace(problems=(_groups_problem(f"{found}, no group of these", groups),))
    starts = [_of_cluster(way, document, cluster) for cluster in together]
    if len(starts) > 1:
        return _several(way, groups, starts)
    (start,), (cluster,) = starts, together
    if not apart:
        return start
    rest = f"{named(apart)} ({hosts_text(apart)}) runs the program outside of it"
    return start._replace(because=f"{start.because} of {named(cluster)}; {rest}")


def _of_cluster(way: Way, document: object, cluster: Sequence[Group]) -> Start:
    sent: Any = hyperparameter(document, MPI_PROCESSES_PER_HOST)
    if way.processes == "one":
        each: list[int | None] = [1] * len(cluster)
    elif sent is not None and way.processes == "each":
        if not _is_count(sent, hosts_of(cluster), way):
            return Start(way.name, None, f"{MPI_PROCESSES_PER_HOST} is no count of processes")
        each = [rank_count(sent)] * len(cluster)
    elif way.name in ("torch_distributed", "pytorch_xla"):
        each = [_default(group) for group in cluster]
    else:
        # mpirun is told by the first host, for all.
        each = [_default(cluster[0])] * len(cluster)
    paired = list(zip(cluster, each, strict=True))
    known = [(group, count) for group, count in paired if count is not None]
    if hosts_of(cluster) is None:
        return Start(way.name, None, f"{way.title} over hosts whose number is not said")
    if len(known) < len(cluster):
        kind = next(group.instance_type for group, count in paired if count is None)
        why = f"{way.title} starts a process for each accelerator of {kind or 'its machine'}"
        return Start(way.name, None, f"{why}, and their number is not known")
    deciding = _deciding_option(document) if way.name == "mpi" else ""
    if deciding:
        because = f"{deciding} among the MPI options decides what mpirun starts"
        return Start(way.name, None, because, tuple(known))
    ranks = ranks_on(known)
    because = f"{way.title} over {spread_text(known)}"
    said = rank_count(hyperparameter(document, MPI_PROCESSES)) if way.name == "mpi" else None
    if said and said != ranks:
        return Start(way.name, said, f"{MPI_PROCESSES} is {said}", tuple(known))
    return Start(way.name, ranks, because, tuple(known))


def _deciding_option(document: object) -> str:
    """The first of the MPI options that changes which ranks start; empty where none does."""
    from launchers.sagemaker.starts.mpi_options import problems_in

    text = hyperparameter(document, MPI_OPTIONS)
    problems = problems_in(text, "", own=False) if isinstance(text, str) else []
    return next((one.found for one in errors(problems)), "")


def _default(group: Group) -> int | None:
    """Processes on a host where the request does not say: one a GPU, without any one."""
    return None if group.gpus is None else group.gpus or 1


def _is_count(sent: Any, hosts: int | None, way: Way) -> bool:
    # A JSON text of a number is repeated, not multiplied: "4" x 2 hosts is "44" for mpirun.
    if isinstance(sent, str) and way.name != "torch_distributed" and hosts != 1:
        return False
    count = rank_count(sent)
    return count is not None and count > 0


def _several(way: Way, groups: Sequence[Group], starts: Sequence[Start]) -> Start:
    sizes = {start.ranks for start in starts}
    told = ", ".join(
        f"{'?' if start.ranks is None else start.ranks} in {group.name}"
        for group, start in zip(groups, starts, strict=True)
    )
    because = f"each of {counted(len(starts), 'instance group')} starts a job of its own: {told}"
    problem = _groups_problem(f"missing: {because}", groups)
    placed = tuple(one for start in starts for one in start.placed)
    ranks = sizes.pop() if len(sizes) == 1 else None
    return Start(way.name, ranks, because, placed, problems=(problem,))


def _groups_problem(found: str, groups: Sequence[Group]) -> Problem:
    names = ", ".join(group.name for group in groups)
    return RULES["distribution-groups"].at(
        f"{_HYPER}.{TOGETHER}", found, f"a JSON list of the groups that train together: {names}"
    )

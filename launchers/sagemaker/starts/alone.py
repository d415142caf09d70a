"""A request that switches no way of starting on: each host runs the program by itself."""

from __future__ import annotations

from collections.abc import Sequence

from launchers.core.model.document import at
from launchers.core.planning.plan import counted
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import (
    MPI_ENABLED,
    MPI_PROCESSES_PER_HOST,
    PROGRAM,
    hyperparameter,
)
from launchers.sagemaker.starts.groups import Group, hosts_of
from launchers.sagemaker.starts.start import Start
from launchers.sagemaker.tables import images


def start(document: object, groups: Sequence[Group]) -> Start:
    """What the hosts start without any distribution."""
    hosts = hosts_of(groups)
    program = _program(document)
    if not program and not _is_aws(document):
        return Start("image", None, "the image's own program may start anything")
    if hosts is None:
        return Start("plain", None, "the number of hosts is not said")
    name = program or "the program"
    if program and not program.endswith(".py"):
        # The toolkit runs anything else by a shell, and such scripts call torchrun and mpirun.
        return Start("plain", None, f"{name} runs on {counted(hosts, 'host')} and may start more")
    if hosts == 1:
        gpus = next(group.gpus for group in groups if group.hosts)
        if gpus in (0, 1):
            return Start("plain", 1, f"the toolkit runs {name} once", once=name)
        many = f"with {gpus} GPUs" if gpus else "on a machine whose GPUs are not known"
        why = f"the toolkit runs {name} once, {many}: only the script says the rest"
        return Start("plain", None, why, once=name)
    why = f"no distribution is switched on: each of {counted(hosts, 'host')} runs {name} by itself"
    problem = RULES["world-size"].at(
        f"$.HyperParameters.{MPI_ENABLED}",
        f"no MPI or other distribution: {counted(hosts, 'job')} that know nothing of each other, "
        "each of world size 1, and status Completed",
        f"one job over {counted(hosts, 'host')}",
        advice(document),
    )
    placed = tuple((group, 1) for group in groups)
    return Start("plain", 1, why, placed, once=name, problems=(problem,))


def advice(document: object) -> str:
    """How to make one job of the hosts, by what the image has."""
    uri = at(document, "AlgorithmSpecification", "TrainingImage")
    image = images.parse(uri) if isinstance(uri, str) else None
    if image is not None and image.horovod is None and "pytorch" in image.framework:
        return 'set sagemaker_torch_distributed_enabled to "true": torchrun then joins them'
    if image is not None and image.horovod is None and "tensorflow" in image.framework:
        flag = "sagemaker_multi_worker_mirrored_strategy_enabled"
        return f'set {flag} to "true", for a script that uses MultiWorkerMirroredStrategy'
    return f'set {MPI_ENABLED} to "true" and {MPI_PROCESSES_PER_HOST} to the ranks of each host'


def _program(document: object) -> str:
    named = at(document, "Environment", "SAGEMAKER_PROGRAM") or hyperparameter(document, PROGRAM)
    return named if isinstance(named, str) else ""


def _is_aws(document: object) -> bool:
    uri = at(document, "AlgorithmSpecification", "TrainingImage")
    return isinstance(uri, str) and images.parse(uri) is not None

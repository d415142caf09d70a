"""Machines, images and ranks that do not go together."""

from __future__ import annotations

import re

from launchers.core.model.document import at
from launchers.core.model.problems import Problem, Severity
from launchers.core.planning.plan import counted
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import MPI_OPTIONS, PROCESSES, hyperparameter, instance_types
from launchers.sagemaker.rules.images import check_image
from launchers.sagemaker.starts.agent import WAY as AGENT
from launchers.sagemaker.starts.start import Start
from launchers.sagemaker.tables import machines


def check_machines(document: object, start: Start, ours: bool) -> list[Problem]:
    """Rules over machine type, image and rank count. A type that no table knows is left to the
    model's own check.

    Args:
        start: What the document starts.
        ours: Whether our guard is to run in it.
    """
    found = [machines.machine(name) for name in dict.fromkeys(instance_types(document))]
    known = [machine for machine in found if machine is not None]
    problems = []
    if start.way not in ("plain", *_ONE_A_HOST):
        problems = _ranks(start) + _visible(document, start)
    for machine in known:
        problems += _volume_key(document, machine)
    return problems + check_image(document, known, ours)


# Ways in which one process has all GPUs of its host.
_ONE_A_HOST = ("multi_worker_mirrored", "parameter_server")


def _ranks(start: Start) -> list[Problem]:
    problems = []
    path = "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host"
    if start.way == AGENT:
        path = f"$.Environment.{PROCESSES}"
    for group, ranks in start.placed:
        if not group.gpus or ranks == group.gpus:
            continue
        gpus, name = group.gpus, group.instance_type
        found = f"{ranks} on {name}, which has {counted(gpus, 'GPU')}"
        if ranks > gpus:
            expected = f"at most {gpus}: one rank a GPU"
            problems.append(RULES["ranks-above-gpus"].at(path, found, expected))
        else:
            fix = f"{counted(gpus - ranks, 'GPU')} of each host stay idle, and are paid for"
            problems.append(RULES["ranks-below-gpus"].at(path, found, f"{gpus}", fix))
    return problems


def _visible(document: object, start: Start) -> list[Problem]:
    """CUDA_VISIBLE_DEVICES that shows a host's ranks fewer GPUs than they are."""
    listed, path = at(document, "Environment", _VISIBLE), f"$.Environment.{_VISIBLE}"
    options = hyperparameter(document, MPI_OPTIONS)
    given = re.search(
        rf"(?:^|\s)-x\s+{_VISIBLE}=(\S*)", options if isinstance(options, str) else ""
    )
    if given and start.way == "mpi":
        listed, path = given[1], f"$.HyperParameters.{MPI_OPTIONS}"
    if not isinstance(listed, str) or not re.fullmatch(r"-?\d*(,-?\d+)*", listed):
        return []
    shown = listed.partition("-1")[0].strip(",")
    count = shown.count(",") + 1 if shown else 0
    ranks = max((ranks for group, ranks in start.placed if group.gpus), default=0)
    if ranks < 2 or count >= ranks:
        return []
    severity: Severity = "error" if count else "warning"
    found = f"{listed or 'empty'}: {counted(count, 'GPU')} for {counted(ranks, 'rank')} of a host"
    return [RULES["visible-devices"].at(path, found, severity=severity)]


_VISIBLE = "CUDA_VISIBLE_DEVICES"


def _volume_key(document: object, machine: machines.Machine) -> list[Problem]:
    # ResourceConfig.VolumeKmsKeyId: "Certain Nitro-based instances include local storage ...
    # You can't request a VolumeKmsKeyId when using an instance type with local storage."
    if not machine.local_nvme or at(document, "ResourceConfig", "VolumeKmsKeyId") is None:
        return []
    return [
        RULES["volume-key-nvme"].at(
            "$.ResourceConfig.VolumeKmsKeyId", f"a key, on {machine.name} with local storage"
        )
    ]

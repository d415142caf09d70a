"""Machines, images and ranks that do not go together."""

from __future__ import annotations

import re

from launchers.core.model.document import at, mapping
from launchers.core.model.problems import Problem, Severity
from launchers.core.planning.plan import counted
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import MPI_OPTIONS, hyperparameter, instance_types, uses_mpi
from launchers.sagemaker.starts.start import Start
from launchers.sagemaker.tables import images, machines

_IMAGE = "$.AlgorithmSpecification.TrainingImage"


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
    return problems + _image(document, known, ours)


# Ways in which one process has all GPUs of its host.
_ONE_A_HOST = ("multi_worker_mirrored", "parameter_server")


def _ranks(start: Start) -> list[Problem]:
    problems = []
    path = "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host"
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


def _image(document: object, known: list[machines.Machine], ours: bool) -> list[Problem]:
    uri = at(document, "AlgorithmSpecification", "TrainingImage")
    if not isinstance(uri, str):
        return []
    image = images.parse(uri)
    if image is None:
        return []
    # The model-parallel library of AWS starts its ranks by MPI, and needs no Horovod.
    horovod = uses_mpi(document) and "mp_parameters" not in mapping(document, "HyperParameters")
    return image_problems(image, known, horovod, guarded=ours)


def image_problems(
    image: images.Image,
    known: list[machines.Machine],
    horovod_is_meant: bool = True,
    guarded: bool = True,
) -> list[Problem]:
    """What a known AWS image lacks for a Horovod job on those machines.

    Args:
        guarded: Whether our guard, which needs a Python of its own, runs in it.
    """
    problems = []
    if horovod_is_meant and image.horovod is None:
        have = ", ".join(f"{item.framework}-{item.version}" for item in images.with_horovod())
        problems.append(
            RULES["image-horovod"].at(
                _IMAGE,
                f"{image.framework} {image.version} carries no Horovod",
                fix=f"those of AWS that have it: {have}; or your own with --image",
            )
        )
    if image.unfit:
        problems.append(RULES["image-unfit"].at(_IMAGE, image.unfit))
    if image.refused and guarded:
        problems.append(
            RULES["image-python"].at(
                _IMAGE,
                image.refused,
                "Python 3.8 or later, which the guard needs",
                "a later version, or your own image with --image",
            )
        )
    for machine in known:
        reason = images.can_drive(image, machine)
        if reason:
            problems.append(RULES["image-cuda"].at(_IMAGE, reason))
    return problems

"""Machines, images and ranks that do not go together."""

from __future__ import annotations

from launchers.core.model.document import at
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import counted
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import instance_types, processes_per_host, uses_mpi
from launchers.sagemaker.tables import images, machines

_IMAGE = "$.AlgorithmSpecification.TrainingImage"


def check_machines(document: object) -> list[Problem]:
    """Rules over machine type, image and rank count. A type that no table knows is left to the
    model's own check."""
    found = [machines.machine(name) for name in instance_types(document)]
    known = [machine for machine in found if machine is not None]
    problems = []
    for machine in known:
        problems += _ranks(document, machine) + _volume_key(document, machine)
    return problems + _image(document, known)


def _ranks(document: object, machine: machines.Machine) -> list[Problem]:
    ranks = processes_per_host(document) if uses_mpi(document) else None
    path = "$.HyperParameters.sagemaker_mpi_num_of_processes_per_host"
    if ranks is None or machine.gpus == 0 or ranks == machine.gpus:
        return []
    found = f"{ranks} on {machine.name}, which has {counted(machine.gpus, 'GPU')}"
    if ranks > machine.gpus:
        return [
            RULES["ranks-above-gpus"].at(path, found, f"at most {machine.gpus}: one rank a GPU")
        ]
    idle = counted(machine.gpus - ranks, "GPU")
    return [
        RULES["ranks-below-gpus"].at(
            path, found, f"{machine.gpus}", f"{idle} of each host stay idle, and are paid for"
        )
    ]


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


def _image(document: object, known: list[machines.Machine]) -> list[Problem]:
    uri = at(document, "AlgorithmSpecification", "TrainingImage")
    if not isinstance(uri, str):
        return []
    image = images.parse(uri)
    if image is None:
        return []
    return image_problems(image, known, uses_mpi(document))


def image_problems(
    image: images.Image, known: list[machines.Machine], horovod_is_meant: bool = True
) -> list[Problem]:
    """What a known AWS image lacks for a Horovod job on those machines."""
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
    if image.refused:
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

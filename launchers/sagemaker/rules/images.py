"""Images that lack what a request's ranks need, or that cannot drive its machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from launchers.core.model.document import at, mapping
from launchers.core.model.problems import Problem
from launchers.core.strategies import NAMES, VARIABLE, named
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import starts_agent, uses_mpi
from launchers.sagemaker.tables import images
from launchers.sagemaker.tables.image_defaults import FRAMEWORKS
from launchers.sagemaker.tables.machines import Machine

_IMAGE = "$.AlgorithmSpecification.TrainingImage"


def check_image(document: object, known: Sequence[Machine], ours: bool) -> list[Problem]:
    """Rules over the image of AWS that a document names; none over any other.

    Args:
        known: Its machines, as far as a table knows them.
        ours: Whether our guard is to run in it.
    """
    uri = at(document, "AlgorithmSpecification", "TrainingImage")
    if not isinstance(uri, str):
        return []
    image = images.parse(uri)
    if image is None:
        return []
    # The model-parallel library of AWS starts its ranks by MPI, and needs no Horovod.
    horovod = uses_mpi(document) and "mp_parameters" not in mapping(document, "HyperParameters")
    problems = image_problems(image, known, horovod, ours, _framework(document))
    if ours or "pytorch" not in image.framework:
        return problems
    # mpirun starts ranks of torch.distributed as well, by the variables that it gives them.
    return [_unless_torch(one) if one.rule == "image-horovod" else one for one in problems]


def _unless_torch(problem: Problem) -> Problem:
    expected = "an image with Horovod, or a script whose ranks join by torch.distributed"
    return replace(problem, severity="warning", expected=expected)


def _framework(document: object) -> str | None:
    """AWS's framework that has what the agent's ranks train by; None where any will do."""
    name = at(document, "Environment", VARIABLE)
    if not starts_agent(document) or name not in NAMES:
        return None
    return FRAMEWORKS.get(named(str(name)).package)


def image_problems(
    image: images.Image,
    known: Sequence[Machine],
    horovod_is_meant: bool = True,
    guarded: bool = True,
    framework: str | None = None,
) -> list[Problem]:
    """What a known AWS image lacks for a job on those machines.

    Args:
        horovod_is_meant: Whether Horovod is what its ranks train by.
        guarded: Whether our guard, which needs a Python of its own, runs in it.
        framework: Another one that they train by, ``pytorch`` or ``tensorflow``.
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
    if framework and image.framework in FRAMEWORKS.values() and image.framework != framework:
        found = f"an image of {image.framework} {image.version}"
        problems.append(RULES["framework-other"].at(_IMAGE, found, f"one of {framework}"))
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

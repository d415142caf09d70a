"""Which of AWS's images a job gets that names none and does without Horovod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from launchers.sagemaker.tables import images
from launchers.sagemaker.tables.images import Image
from launchers.sagemaker.tables.machines import Machine

# Package of Python: AWS's framework that has it. AWS trains nothing else in images of its own.
FRAMEWORKS = {"torch": "pytorch", "tensorflow": "tensorflow"}


def newest(framework: str, machines: Sequence[Machine], region: str) -> Image | None:
    """The newest that AWS still patches and that can drive those machines; where it patches none
    of these, the newest that can drive them; None where none can.

    Whether it patches one is asked of the day on which the table was made, so that the same job
    has the same document on every day.

    Args:
        framework: ``pytorch`` or ``tensorflow``.
        machines: Of the job; none where they are not known.
        region: Where the job runs; AWS's newer regions lack older images.
    """
    gpu = any(machine.gpus for machine in machines)
    fit = [
        image
        for image in _all(framework, gpu, region)
        if not image.refused and not any(images.can_drive(image, machine) for machine in machines)
    ]
    today = str(images.load()["date"])
    return next((image for image in fit if image.end_of_patch > today), fit[0] if fit else None)


def _all(framework: str, gpu: bool, region: str) -> Iterator[Image]:
    """Newest first."""
    for key, row in reversed(images.load()["images"].items()):
        name, _, version = key.partition("-")
        # Versions that were never read of which nothing but a tag is known.
        if name == framework and "horovod" in row and region not in row.get("not_in", ()):
            yield images.lookup(f"{name}-{version}", gpu, region)

"""The image of a job that names none and does without Horovod."""

from __future__ import annotations

import pytest

from launchers.sagemaker.tables import images, machines
from launchers.sagemaker.tables.image_defaults import FRAMEWORKS, newest

ROWS = [
    ("pytorch", "ml.g5.12xlarge", True),
    ("pytorch", "ml.c5.xlarge", True),
    ("tensorflow", "ml.g5.12xlarge", True),
    # CUDA 13 has no code for Volta, and AWS patches no image of an older CUDA.
    ("pytorch", "ml.p3.8xlarge", False),
]


@pytest.mark.parametrize(("framework", "name", "patched"), ROWS)
def test_it_is_the_newest_that_is_patched_and_drives_the_machine(
    framework: str, name: str, patched: bool
) -> None:
    machine = machines.machine(name)
    assert machine is not None
    found = newest(framework, [machine], "us-east-1")
    assert found is not None
    assert (found.framework, found.refused) == (framework, "")
    assert images.can_drive(found, machine) is None
    assert (found.end_of_patch > images.load()["date"]) == patched
    wanted = f"{framework}-{found.version}"
    assert images.lookup(wanted, machine.gpus > 0, "us-east-1").uri == found.uri
    newer = [
        key.partition("-")[2]
        for key in images.load()["images"]
        if key.startswith(f"{framework}-") and _numbers(key) > _numbers(wanted)
    ]
    for version in newer:
        image = images.lookup(f"{framework}-{version}", machine.gpus > 0, "us-east-1")
        assert images.can_drive(image, machine), version


def _numbers(key: str) -> list[int]:
    return [int(part) for part in key.partition("-")[2].split(".")]


def test_a_machine_that_no_image_of_a_framework_can_drive_has_none() -> None:
    graviton = next(one for one in machines.load().values() if one.cpu_architecture == "arm64")
    assert newest("tensorflow", [graviton], "us-east-1") is None


def test_every_framework_of_the_table_has_images() -> None:
    known = {key.partition("-")[0] for key in images.load()["images"]}
    assert set(FRAMEWORKS.values()) == known

"""What a rank's guard finds in its environment on an executor."""

from __future__ import annotations

import pytest
from launch_runtime.spark.rank_environment import Place, of_guard

PLACE = Place(rank=3, size=4, local_rank=1, local_size=2, group="machine")


def test_a_script_sees_its_place_and_none_of_the_keys_of_horovod_spark_and_the_job() -> None:
    keys = (
        "_HOROVOD_SECRET_KEY",
        "_SPARK_AUTH_SECRET",
        "PYTHON_WORKER_FACTORY_SECRET",
        "LAUNCH_NONCE",
    )
    given = {**dict.fromkeys(keys, "key"), "HOROVOD_RANK": "3"}
    assert of_guard(given, PLACE, "node", None, "") == {
        "HOROVOD_RANK": "3",
        "LAUNCH_HOST": "node",
        "LAUNCH_SEAT": "4 3 2 1",
        "LAUNCH_SPREAD": "reported",
        "CUDA_VISIBLE_DEVICES": "",
    }


@pytest.mark.parametrize(
    ("pin", "gpus", "devices", "sees"),
    [
        ("none", None, "", ("", None)),
        ("guard", ["5"], "4,5", ("0,1", "5")),
        ("guard", [], "4", ("0,1", "")),
        ("script", ["5"], "4,5", ("4,5", None)),
        ("none", ["5"], "4,5", ("4,5", None)),
    ],
    ids=[
        "a job without GPUs",
        "the guard pins",
        "a task without one",
        "the script pins",
        "nobody pins",
    ],
)
def test_a_rank_sees_the_jobs_gpus_of_its_machine_alone(
    pin: str, gpus: list[str] | None, devices: str, sees: tuple[str, str | None]
) -> None:
    given = {"CUDA_VISIBLE_DEVICES": "0,1", "LAUNCH_PIN_GPU": pin}
    built = of_guard(given, PLACE, "node", gpus, devices)
    assert (built["CUDA_VISIBLE_DEVICES"], built.get("LAUNCH_TASK_GPUS")) == sees

from __future__ import annotations

from types import SimpleNamespace

import pytest
from launch_runtime.rank.gpu_pinning import pin, sees_devices
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.strategies.horovod import carried_by

# LAUNCH_PIN_GPU, CUDA_VISIBLE_DEVICES (None: unset), local rank; what the rank gets
PINNED = [
    ("guard", "0,1,2,3", 2, "2"),
    ("guard", "4, 5 ,6", 1, "5"),
    ("guard", "7", 0, "7"),
    ("guard", "GPU-1a2b,MIG-3c4d", 1, "MIG-3c4d"),
    ("guard", None, 3, "3"),
    ("guard", "", 1, ""),
    ("guard", "-1", 1, "-1"),
    ("guard", "NoDevFiles", 0, "NoDevFiles"),
    ("guard", "1,-1,2", 0, "1"),
    ("script", "0,1", 1, "0,1"),
    ("none", "0,1", 1, "0,1"),
    ("script", None, 1, None),
    (None, "0,1", 1, "0,1"),
]


@pytest.mark.parametrize(("who", "devices", "local_rank", "expected"), PINNED)
def test_a_rank_is_left_its_own_device_where_the_guard_pins(
    who: str | None, devices: str | None, local_rank: int, expected: str | None
) -> None:
    given = {"LAUNCH_PIN_GPU": who, "CUDA_VISIBLE_DEVICES": devices}
    environment = {name: value for name, value in given.items() if value is not None}
    pin(environment, local_rank)
    assert environment.get("CUDA_VISIBLE_DEVICES") == expected


@pytest.mark.parametrize("local_rank", [0, 3])
def test_the_device_of_a_task_of_sparks_is_the_ranks_whatever_its_local_rank(
    local_rank: int,
) -> None:
    environment = {"LAUNCH_PIN_GPU": "guard", "LAUNCH_TASK_GPUS": "5"}
    pin(environment, local_rank)
    assert environment == {"LAUNCH_PIN_GPU": "guard", "CUDA_VISIBLE_DEVICES": "5"}


def test_a_task_of_sparks_without_a_device_is_refused_where_the_guard_pins() -> None:
    with pytest.raises(RefusalError, match="none among its resources") as caught:
        pin({"LAUNCH_PIN_GPU": "guard", "LAUNCH_TASK_GPUS": ""}, 0)
    assert "spark.task.resource.gpu.amount" in caught.value.fix
    pin({"LAUNCH_PIN_GPU": "script", "LAUNCH_TASK_GPUS": ""}, 0)


@pytest.mark.parametrize("devices", ["0,1", "0,1,-1,3"])
def test_fewer_devices_than_ranks_are_refused(devices: str) -> None:
    environment = {"LAUNCH_PIN_GPU": "guard", "CUDA_VISIBLE_DEVICES": devices}
    with pytest.raises(RefusalError, match="2 GPUs in CUDA_VISIBLE_DEVICES"):
        pin(environment, 2)


@pytest.mark.parametrize(
    ("visible", "on_host", "expected"),
    [
        (None, ["/dev/nvidia0"], True),
        ("0,1", ["/dev/nvidia0", "/dev/nvidia1"], True),
        ("", ["/dev/nvidia0"], False),
        ("-1", ["/dev/nvidia0"], False),
        (None, [], False),
    ],
)
def test_a_rank_has_a_gpu_where_its_host_has_one_and_leaves_it_visible(
    visible: str | None, on_host: list[str], expected: bool
) -> None:
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}

    assert sees_devices(environment, on_host) is expected


@pytest.mark.parametrize(
    ("nccl", "mpi", "gpus", "expected"),
    [
        (21805, True, True, "NCCL"),
        (21805, True, False, "MPI"),
        (0, False, True, "Gloo"),
        (None, True, True, "MPI"),  # a Horovod too old to say
    ],
)
def test_the_proof_names_what_carries_the_gradients(
    nccl: int | None, mpi: bool, gpus: bool, expected: str
) -> None:
    basics = SimpleNamespace(mpi_enabled=lambda: mpi)
    if nccl is not None:
        basics.nccl_built = lambda: nccl

    assert carried_by(basics, gpus) == expected

"""Where a process trains, by stand-ins for the frameworks: no GPU is here."""

from __future__ import annotations

import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.rank.exchange import devices

HOST = socket.gethostname()


def torch_with(held: dict[int, int], uuids: bool = True, started: bool = True) -> Any:
    properties = [SimpleNamespace(uuid=f"a-{index}") if uuids else object() for index in held]
    return SimpleNamespace(
        cuda=SimpleNamespace(
            is_available=lambda: True,
            is_initialized=lambda: started,
            device_count=lambda: len(held),
            get_device_properties=lambda index: properties[index],
            max_memory_allocated=lambda index: held[index],
        )
    )


@pytest.fixture(autouse=True)
def _no_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "tensorflow", "tensorflow.python.eager.context"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_process_without_a_framework_uses_none() -> None:
    assert devices.in_use({}) == []


@pytest.mark.parametrize(
    ("held", "used"),
    [
        ({0: 0, 1: 0}, []),
        ({0: 10**9, 1: 0}, ["GPU-a-0"]),
        ({0: 10**6, 1: 10**9}, ["GPU-a-1"]),
        ({0: 100, 1: 1000}, ["GPU-a-1"]),
        ({0: 101, 1: 1000}, ["GPU-a-0", "GPU-a-1"]),
        ({0: 10**9, 1: 10**9}, ["GPU-a-0", "GPU-a-1"]),
    ],
)
def test_a_gpu_counts_where_tensors_lay(
    held: dict[int, int], used: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with(held))

    assert devices.in_use({}) == used


def test_torch_that_never_used_a_gpu_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with({0: 10**9}, started=False))

    assert devices.in_use({}) == []


def test_torch_without_a_gpu_uses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_with({0: 10**9})
    torch.cuda.is_available = lambda: False
    monkeypatch.setitem(sys.modules, "torch", torch)

    assert devices.in_use({}) == []


def test_ranks_that_are_to_share_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with({0: 10**9}))

    assert devices.in_use({"LAUNCH_PIN_GPU": "none"}) == []


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({}, "1"),
        ({"CUDA_VISIBLE_DEVICES": "6"}, "1"),
        ({"CUDA_VISIBLE_DEVICES": "6,7"}, "7"),
        ({"CUDA_VISIBLE_DEVICES": "GPU-x,GPU-y"}, "GPU-y"),
    ],
)
def test_without_a_uuid_a_gpu_is_named_as_cuda_shows_it(
    environment: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with({0: 0, 1: 10**9}, uuids=False))

    assert devices.in_use(environment) == [f"{HOST}:{name}"]


def test_slices_of_one_gpu_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with({0: 10**9}))

    assert devices.in_use({"CUDA_VISIBLE_DEVICES": "MIG-7"}) == [f"{HOST}:MIG-7"]


def tensorflow_with(peaks: dict[int, int]) -> Any:
    shown = [SimpleNamespace(name=f"/physical_device:GPU:{index}") for index in peaks]
    memory = {f"GPU:{place}": {"peak": peak} for place, peak in enumerate(peaks.values())}
    return SimpleNamespace(
        config=SimpleNamespace(
            get_visible_devices=lambda kind: shown,
            experimental=SimpleNamespace(get_memory_info=memory.__getitem__),
        )
    )


def test_tensorflow_names_a_gpu_by_its_place_before_it_was_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = SimpleNamespace(_context=SimpleNamespace(_initialized=True))
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", context)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow_with({3: 10**8}))

    assert devices.in_use({"CUDA_VISIBLE_DEVICES": "4,5,6,7"}) == [f"{HOST}:7"]


@pytest.mark.parametrize("context", [{"_initialized": False}, {}])
def test_tensorflow_that_was_only_imported_is_not_started(
    context: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = SimpleNamespace(_context=SimpleNamespace(**context))
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", eager)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow_with({0: 10**8}))

    assert devices.in_use({}) == []


def test_tensorflow_that_has_not_begun_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow_with({0: 10**8}))

    assert devices.in_use({}) == []


def test_a_gpu_that_does_not_answer_takes_nothing_else_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(index: int) -> int:
        raise RuntimeError("CUDA error: device-side assert triggered")

    torch = torch_with({0: 1})
    torch.cuda.max_memory_allocated = lost
    monkeypatch.setitem(sys.modules, "torch", torch)

    assert devices.in_use({}) == []

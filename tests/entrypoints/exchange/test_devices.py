"""Where a process trains, by stand-ins for the frameworks: no GPU is here."""

from __future__ import annotations

import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.rank import gpu_pinning
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
        ),
        version=SimpleNamespace(cuda="12.4"),
    )


@pytest.fixture(autouse=True)
def _no_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "tensorflow", "tensorflow.python.eager.context"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_process_without_a_framework_uses_none() -> None:
    assert devices.look({}).names == []


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

    assert devices.look({}).names == used


def test_torch_that_never_used_a_gpu_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with({0: 10**9}, started=False))

    assert devices.look({}).names == []


def test_torch_without_a_gpu_uses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_with({0: 10**9})
    torch.cuda.is_available = lambda: False
    monkeypatch.setitem(sys.modules, "torch", torch)

    assert devices.look({}).names == []


def test_ranks_that_are_to_share_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with({0: 10**9}))

    assert devices.look({"LAUNCH_PIN_GPU": "none"}).names == []


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

    assert devices.look(environment).names == [f"{HOST}:{name}"]


def test_slices_of_one_gpu_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with({0: 10**9}))

    assert devices.look({"CUDA_VISIBLE_DEVICES": "MIG-7"}).names == [f"{HOST}:MIG-7"]


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

    assert devices.look({"CUDA_VISIBLE_DEVICES": "4,5,6,7"}).names == [f"{HOST}:7"]


@pytest.mark.parametrize("context", [{"_initialized": False}, {}])
def test_tensorflow_that_was_only_imported_is_not_started(
    context: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = SimpleNamespace(_context=SimpleNamespace(**context))
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", eager)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow_with({0: 10**8}))

    assert devices.look({}).names == []


def test_tensorflow_that_has_not_begun_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow_with({0: 10**8}))

    assert devices.look({}).names == []


def test_a_gpu_that_does_not_answer_takes_nothing_else_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(index: int) -> int:
        raise RuntimeError("CUDA error: device-side assert triggered")

    torch = torch_with({0: 1})
    torch.cuda.max_memory_allocated = lost
    monkeypatch.setitem(sys.modules, "torch", torch)

    assert devices.look({}).names == []


NOT_USED = (
    "PyTorch has not used CUDA: torch.cuda.is_available() is False, or the model was never moved "
    "to the GPU"
)
PUT_NOTHING = "TensorFlow has put nothing on it, or the script hides it (set_visible_devices)"
TENSORFLOW_WITHOUT = "this TensorFlow is built without CUDA"
BUILT_WITHOUT = "this PyTorch is built without CUDA"
FINDS_NONE = (
    "TensorFlow finds no GPU: CUDA's libraries are missing, or are not the versions that it was "
    "built for"
)


class There:
    """Puts frameworks in, and a GPU."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(gpu_pinning, "rank_sees_devices", lambda: True)

    def torch(self, held: dict[int, int], started: bool = True, **version: Any) -> Any:
        torch = torch_with(held, started=started)
        torch.version = SimpleNamespace(**{"cuda": "12.4", **version})
        self._monkeypatch.setitem(sys.modules, "torch", torch)
        return torch

    def tensorflow(
        self,
        peaks: dict[int, int],
        started: bool = True,
        built: bool = True,
        there_are: int | None = None,
    ) -> None:
        context = SimpleNamespace(_context=SimpleNamespace(_initialized=started))
        self._monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", context)
        tensorflow = tensorflow_with(peaks)
        physical = list(peaks) if there_are is None else list(range(there_are))
        tensorflow.config.list_physical_devices = lambda kind: physical
        tensorflow.test = SimpleNamespace(is_built_with_cuda=lambda: built)
        self._monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> There:
    return There(monkeypatch)


def test_a_gpu_on_which_nothing_lies_is_idle_and_why(there: There) -> None:
    assert devices.look({}).idle == ""  # nothing trains here
    there.torch({}, started=False)
    assert devices.look({}).idle == NOT_USED
    there.torch({0: 0})
    assert devices.look({}).idle == NOT_USED
    there.torch({}, started=False, cuda=None)
    assert devices.look({}) == ([], BUILT_WITHOUT, False)
    assert devices.look({"LAUNCH_PIN_GPU": "none"}) == ([], BUILT_WITHOUT, False)
    there.torch({}, started=False, cuda=None, hip="6.2")
    assert devices.look({}).idle == NOT_USED


def test_tensorflow_that_uses_none_says_which_of_three_causes_it_is(there: There) -> None:
    there.tensorflow({}, built=False)
    assert devices.look({}).idle == TENSORFLOW_WITHOUT
    there.tensorflow({})
    assert devices.look({}).idle == FINDS_NONE
    there.tensorflow({}, there_are=1)
    assert devices.look({}).idle == PUT_NOTHING
    there.tensorflow({0: 0})
    assert devices.look({}).idle == PUT_NOTHING


def test_of_two_frameworks_both_must_be_known_to_use_none(there: There) -> None:
    there.tensorflow({})
    there.torch({}, started=False)
    assert devices.look({}).idle == f"{NOT_USED} and {FINDS_NONE}"
    there.torch({0: 10**6})
    assert devices.look({}) == (["GPU-a-0"], "", True)
    assert devices.look({"LAUNCH_PIN_GPU": "none"}) == ([], "", True)
    there.torch({}, started=False)
    there.tensorflow({0: 10**6})
    assert devices.look({}).idle == ""


def test_nothing_is_said_of_a_graph_in_a_session_or_a_gpu_that_does_not_answer(
    there: There,
) -> None:
    there.tensorflow({}, started=False)
    assert devices.look({}).idle == ""
    there.torch({}, started=False)
    assert devices.look({}).idle == ""
    there.tensorflow({})
    there.torch({0: 0}).cuda.max_memory_allocated = {}.__getitem__
    assert devices.look({}).idle == ""


def test_nothing_is_idle_where_there_is_no_gpu(
    there: There, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.torch({}, started=False)
    monkeypatch.setattr(gpu_pinning, "rank_sees_devices", lambda: False)
    assert devices.look({}).idle == ""

"""When torch.distributed makes and destroys its default group, by a stand-in for its module."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.rank import torch_hook

DEFAULT, OTHER = object(), object()


@pytest.fixture
def told() -> list[str]:
    """What happens, in order."""
    return []


def module_of(told: list[str], there: bool = True, new: bool = True) -> Any:
    """The module, watched."""
    module = SimpleNamespace(
        is_initialized=lambda: there,
        init_process_group=lambda backend: told.append(f"init {backend}"),
        destroy_process_group=lambda group=None: told.append("destroy"),
    )
    if new:
        module.GroupMember = SimpleNamespace(WORLD=DEFAULT)
    else:
        module.group = SimpleNamespace(WORLD=DEFAULT)
    watchers = [lambda *_, name=name: told.append(name) for name in ("before", "after", "leaving")]
    torch_hook._wrap(module, *watchers)
    return module


def test_a_group_is_looked_at_before_and_behind_its_making(told: list[str]) -> None:
    module_of(told).init_process_group("gloo")

    assert told == ["before", "init gloo", "after"]


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize(
    ("args", "kwargs", "leaves"),
    [
        ((), {}, True),
        ((None,), {}, True),
        ((DEFAULT,), {}, True),
        ((), {"group": DEFAULT}, True),
        ((OTHER,), {}, False),
        ((), {"group": OTHER}, False),
    ],
)
def test_a_rank_leaves_with_the_default_group_alone(
    told: list[str], args: tuple[Any, ...], kwargs: dict[str, Any], leaves: bool, new: bool
) -> None:
    module_of(told, new=new).destroy_process_group(*args, **kwargs)

    assert told == (["leaving", "destroy"] if leaves else ["destroy"])


def test_without_a_group_nobody_leaves(told: list[str]) -> None:
    module_of(told, there=False).destroy_process_group()

    assert told == ["destroy"]

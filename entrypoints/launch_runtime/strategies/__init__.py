"""The strategies, in a replica: how ranks are told their places, and how it is seen what they do.

One module each, with an object ``STRATEGY``; see ``strategy.Strategy``.
"""

from __future__ import annotations

from typing import Mapping

from launch_runtime.environment import choice
from launch_runtime.strategies import horovod, jax, none, tensorflow, torch
from launch_runtime.strategies.strategy import Strategy

VARIABLE = "LAUNCH_STRATEGY"  # jobs of Horovod carry none
DEFAULT = horovod.STRATEGY.name

_ALL: Mapping[str, Strategy] = {
    module.STRATEGY.name: module.STRATEGY for module in (horovod, torch, tensorflow, jax, none)
}
NAMES = tuple(_ALL)


def of(environment: Mapping[str, str]) -> Strategy:
    """The strategy of the job, from LAUNCH_STRATEGY.

    Raises:
        environment.SettingError: There is no such one.
    """
    return named(choice(environment, VARIABLE, NAMES, default=DEFAULT))


def named(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        KeyError: There is none.
    """
    return _ALL[name]

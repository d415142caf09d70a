"""No strategy: one rank, and nothing distributed."""

from __future__ import annotations

from typing import Mapping

from launch_runtime.strategies.strategy import Seat, Strategy
from launch_runtime.words import Words

WORDS = Words(
    product="nothing",
    join="nothing",
    leave="nothing",
    never="rank {rank} of {size} ended, and nothing connects the ranks",
    why_never="strategy none runs one rank",
    fix_never="use one instance and one process, or another --strategy",
    not_used="nothing distributed",
    late="nothing connects {size} ranks",
    inner="",
    fix_inner="",
    keep="",
    wrap="use one instance and one process, or another --strategy",
    broadcast="",
)


class Alone(Strategy):
    """See the module."""

    name = "none"
    words = WORDS
    wants_port = False
    single = True
    # A Keras script that runs alone gets the Keras that it got before there were strategies.
    settles_keras = True

    def variables(self, seat: Seat) -> Mapping[str, str]:
        return {}


STRATEGY = Alone()

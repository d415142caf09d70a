"""Horovod: one rank a GPU, joined by hvd.init()."""

from __future__ import annotations

from launchers.core.strategies.strategy import Strategy, Use

STRATEGY = Strategy(
    name="horovod",
    title="Horovod",
    joining="hvd.init()",
    bring_in="Bring it in with hvd.init() and a wrapped optimizer (`launch init` writes an "
    "example)",
    uses=(Use("Horovod", (r"horovod",), by_import=True),),
    words="horovod",
    # HorovodRunner, strategy="horovod", HOROVOD_TIMELINE.
    mention="horovod",
    library="Horovod",
    package="horovod",
    # The variables of its ranks are reserved in every job: core/rules/environment.py.
    settles_keras=True,
)

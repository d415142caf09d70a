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
    # Open MPI spins while it waits, and Horovod talks to the other ranks every millisecond.
    # Measured on 2 cores with 2 x 2 ranks of the shared script: 119 s with the first setting
    # alone, 57 s with both (Open MPI 4.1.4, Horovod 0.28.1).
    gives_way={"OMPI_MCA_mpi_yield_when_idle": "1", "HOROVOD_CYCLE_TIME": "5"},
)

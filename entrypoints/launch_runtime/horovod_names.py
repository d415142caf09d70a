"""The variables by which whoever starts Horovod's ranks tells each its place. Data alone.

Source: horovod/common/gloo/gloo_context.cc and common/basics.py (0.28.1); for Open MPI, the
variables that mpirun sets ("Open MPI FAQ: running jobs").
"""

from __future__ import annotations

PLACE = (
    "HOROVOD_RANK",
    "HOROVOD_SIZE",
    "HOROVOD_LOCAL_RANK",
    "HOROVOD_LOCAL_SIZE",
    "HOROVOD_CROSS_RANK",
    "HOROVOD_CROSS_SIZE",
)
# Where the ranks meet.
RENDEZVOUS = ("HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT")
# The same for all ranks of a host.
HOST = ("HOROVOD_HOSTNAME", "HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS")
INTERFACE = "HOROVOD_GLOO_IFACE"
MPI = (
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
)
ALL = (*PLACE, *RENDEZVOUS, *HOST, INTERFACE)  # of Horovod itself

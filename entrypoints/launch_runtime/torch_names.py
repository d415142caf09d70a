"""The variables by which PyTorch's ranks are told their places. Data alone.

Source: torch/distributed/run.py, "Environment Variables" (torchrun), and the environment that
torchrun 2.5 gives its processes; torch/distributed/rendezvous.py reads the first four.
"""

from __future__ import annotations

RENDEZVOUS = ("MASTER_ADDR", "MASTER_PORT")
PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
GROUPS = (
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "ROLE_NAME",
    "NODE_RANK",
)
ELASTIC = (
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS",
)
# An outer torchrun's: with the store rank 0 would look for that torchrun instead of serving.
FOREIGN = ("TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_ERROR_FILE")
ALL = (*RENDEZVOUS, *PLACE, *GROUPS, *ELASTIC, *FOREIGN)

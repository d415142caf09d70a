"""The variables that a job's processes inherit from its user."""

from __future__ import annotations

import os

from launchers.core.shipped import runtime

# What an outer job would leave in the environment, and must not reach this one's ranks.
_FOREIGN = ("LAUNCH_", "OMPI_", "PMIX_", "SM_", "HOROVOD_GLOO_")
_FOREIGN_NAMES = frozenset({"TF_CONFIG", "CLUSTER_SPEC", *runtime("horovod_names").ALL})


def inherited() -> dict[str, str]:
    """This process's variables without those of an outer job. PYTHONPATH is the user's own, as it
    was before :meth:`~launchers.machine.supervised.service.SupervisedService.submit` put the
    supervisor's before it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_FOREIGN) and name not in _FOREIGN_NAMES
    }
    users = kept.pop("PYTHONPATH", "").partition(os.pathsep)[2]
    if users:
        kept["PYTHONPATH"] = users
    return kept

"""What the service needs of a job's document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.core.records import nonce
from launchers.core.spark import keys
from launchers.spark.document import secret_conf
from launchers.spark.options import CLUSTER


def rank_environment_of(document: Mapping[str, Any]) -> dict[str, str]:
    """The variables of every rank, with the job's nonce, which ranks don't get."""
    found = {
        name.removeprefix(keys.EXECUTOR_ENV): value
        for name, value in document["conf"].items()
        if name.startswith(keys.EXECUTOR_ENV)
    }
    in_cluster = next(iter(secret_conf(document).values()), "")
    found[nonce.VARIABLE] = document["environment"].get(nonce.VARIABLE, in_cluster)
    return found


def is_in_cluster(document: Mapping[str, Any]) -> bool:
    """Whether the driver runs in the cluster, so that neither its output nor its exit code is
    here."""
    return bool(document["deploy_mode"] == CLUSTER)


def driver_result_of(document: Mapping[str, Any]) -> Path:
    """Where the driver writes how it ended."""
    return Path(document["conf"][keys.OURS + keys.RESULT])

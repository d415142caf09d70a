"""The variables of a replica of a custom job, as Vertex AI sets them. Pure.

Source: Vertex AI's documentation, "Distributed training" (CLUSTER_SPEC, TF_CONFIG, MASTER_ADDR) and
"Training code requirements" (AIP_*), and the API's EnvVar; facts that show in replicas alone are
those of the tests for CLUSTER_SPEC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from launchers.core.model.document import at
from launchers.vertex.rules.pools import PROCESSES, WORLD_SIZE, Pool, pools, rank_pools

# The service makes up an id for each job; one that stays the same makes rehearsals comparable.
_JOB_NUMBER = "0123456789"
_PROJECT_NUMBER = "000000000000"
PORT = 2222
OPEN_PORT = 3333
_TF_NAMES = ("chief", "worker", "ps", "evaluator")  # of pools 0 to 3 in TF_CONFIG
_REFERENCE = re.compile(r"\$\$(?=\$*\()|\$\(([^)]*)\)")


def environment(
    document: Mapping[str, Any], pool: Pool, index: int, number: int, ranks_per_host: int | None
) -> dict[str, str]:
    """The service's own variables, then the document's, which may refer to earlier ones.

    Args:
        document: The CustomJob.
        pool: Of the replica.
        index: Its place in the pool.
        number: Its place in the job.
        ranks_per_host: Stands for the document's own number.
    """
    values = {
        "CLOUD_ML_PROJECT_ID": _PROJECT_NUMBER,
        "CLOUD_ML_JOB_ID": _JOB_NUMBER,
        "CLUSTER_SPEC": _cluster_spec(document, pool, index),
        **_distributed(document, pool, index, number),
        **_folders(document),
    }
    for name, value in pool.environment:
        values[name] = expanded(value, values)
    if ranks_per_host is not None:
        hosts = sum(found.replicas or 1 for found in rank_pools(document))
        reduced = {PROCESSES: ranks_per_host, WORLD_SIZE: ranks_per_host * hosts}
        values.update({name: str(value) for name, value in reduced.items() if name in values})
    return values


def expanded(value: str, known: Mapping[str, str]) -> str:
    """``$(NAME)`` replaced by a variable that was set before; ``$$(NAME)`` stands for ``$(NAME)``,
    and a name that is not known stays as it is (the API's EnvVar.value).

    Example:
        >>> expanded("$(A)/x $$(A) $(B)", {"A": "1"})
        '1/x $(A) $(B)'
    """

    def replaced(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return known.get(match[1], match[0])

    return _REFERENCE.sub(replaced, value)


def output_base(document: Mapping[str, Any]) -> str:
    """The base output directory, gs://BUCKET/FOLDER; empty for none."""
    prefix = at(document, "jobSpec", "baseOutputDirectory", "outputUriPrefix")
    return prefix.rstrip("/") if isinstance(prefix, str) else ""


def address(pool: Pool, index: int) -> str:
    """By which the other replicas know this one of a pool."""
    return f"cmle-training-{pool_name(pool)}-{_JOB_NUMBER}-{index}"


def pool_name(pool: Pool) -> str:
    """``workerpool0``, as CLUSTER_SPEC has it."""
    return f"workerpool{pool.index}"


def _cluster_spec(document: Mapping[str, Any], pool: Pool, index: int) -> str:
    task = {"type": pool_name(pool), "index": index}
    spec = {
        "cluster": {pool_name(found): _addresses(found) for found in pools(document)},
        "environment": "cloud",
        "task": task,
        # A text of JSON, as replicas have been seen to get it.
        "job": json.dumps({"worker_pools": len(pools(document))}),
        "open_ports": [OPEN_PORT],
    }
    return json.dumps(spec)


def _distributed(
    document: Mapping[str, Any], pool: Pool, index: int, number: int
) -> dict[str, str]:
    """What a job of several replicas gets for TensorFlow's and PyTorch's own strategies."""
    all_pools = pools(document)
    if sum(found.replicas or 1 for found in all_pools) < 2:
        return {}
    cluster = {_TF_NAMES[found.index]: _addresses(found) for found in all_pools if found.index < 4}
    task = {"type": _TF_NAMES[pool.index], "index": index}
    config = {"cluster": cluster, "task": task, "environment": "cloud"}
    return {
        "TF_CONFIG": json.dumps(config),
        "MASTER_ADDR": address(rank_pools(document)[0], 0),
        "MASTER_PORT": str(OPEN_PORT),
        "RANK": str(number),
        "WORLD_SIZE": str(sum(found.replicas or 1 for found in rank_pools(document))),
    }


def _folders(document: Mapping[str, Any]) -> dict[str, str]:
    """AIP_*, which a base output directory gives: addresses, not paths of the mount."""
    base = output_base(document)
    names = {"AIP_MODEL_DIR": "model", "AIP_CHECKPOINT_DIR": "checkpoints"}
    names["AIP_TENSORBOARD_LOG_DIR"] = "logs"
    return {name: f"{base}/{folder}/" for name, folder in names.items()} if base else {}


def _addresses(pool: Pool) -> list[str]:
    return [f"{address(pool, index)}:{PORT}" for index in range(pool.replicas or 1)]

"""The variables by which a job's definition tells agent, guard and script what the job is."""

from __future__ import annotations

import json
from collections.abc import Mapping

from launchers.core.records import nonce
from launchers.core.spec.job import JobSpec


def rank_environment(
    job: JobSpec,
    processes: int,
    pin: str,
    checkpoints: str,
    secrets: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The user's variables and ours, the same names on every provider.

    Args:
        processes: Ranks on each host.
        pin: Who gives each rank its GPU.
        checkpoints: The folder, as the ranks see it.
        secrets: References by variable; those of the job where not given.
    """
    references = job.secrets if secrets is None else secrets
    environment = {
        **job.environment,
        "LAUNCH_JOB": job.full_name or "NAME",
        "LAUNCH_WORLD_SIZE": str(job.instances * processes),
        "LAUNCH_INSTANCES": str(job.instances),
        "LAUNCH_PROCESSES": str(processes),
        "LAUNCH_PIN_GPU": pin,
        "LAUNCH_CHECKPOINT_DIR": checkpoints,
        "LAUNCH_PROOF": job.proof,
        # The real one stands in what is sent alone.
        nonce.VARIABLE: nonce.PLACEHOLDER,
    }
    if references:
        environment["LAUNCH_SECRETS"] = json.dumps(dict(references), sort_keys=True)
    return environment

"""The variables by which a job's definition tells agent, guard and script what the job is."""

from __future__ import annotations

import json
from collections.abc import Mapping

from launchers.core import strategies
from launchers.core.planning.plan import Plan
from launchers.core.records import nonce


def rank_environment(
    plan: Plan, checkpoints: str, secrets: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The user's variables and ours, the same names on every provider.

    Args:
        checkpoints: The folder, as the ranks see it.
        secrets: References by variable; those of the job where not given.
    """
    references = plan.job.secrets if secrets is None else secrets
    environment = {
        **plan.job.environment,
        "LAUNCH_JOB": plan.name,
        "LAUNCH_WORLD_SIZE": str(plan.world_size),
        "LAUNCH_INSTANCES": str(plan.instances),
        "LAUNCH_PROCESSES": str(plan.processes),
        "LAUNCH_PIN_GPU": plan.pinning.by,
        "LAUNCH_CHECKPOINT_DIR": checkpoints,
        "LAUNCH_PROOF": plan.job.proof,
        # Only what is sent holds the real one.
        nonce.VARIABLE: nonce.PLACEHOLDER,
    }
    if plan.strategy.name != strategies.FIRST:
        environment[strategies.VARIABLE] = plan.strategy.name
    if plan.job.hang_after:
        environment["LAUNCH_HANG_AFTER"] = str(plan.job.hang_after)
        environment["LAUNCH_HANG_ACTION"] = plan.job.hang_action
    if references:
        environment["LAUNCH_SECRETS"] = json.dumps(dict(references), sort_keys=True)
    return environment

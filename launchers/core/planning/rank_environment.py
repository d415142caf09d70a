"""The variables by which a job's definition tells agent, guard and script what the job is."""

from __future__ import annotations

import json
from collections.abc import Mapping

from launchers.core import strategies
from launchers.core.planning.plan import Plan
from launchers.core.records import nonce

# What the job is, in one JSON object of texts, for whatever tracks what it trains.
TAGS = "LAUNCH_TAGS"


def rank_environment(
    plan: Plan,
    checkpoints: str,
    *,
    provider: str,
    machine: str = "",
    secrets: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The user's variables and ours, the same names on every provider.

    Args:
        checkpoints: The folder, as the ranks see it.
        provider: Its name.
        machine: The type of the hosts; empty where they are of none.
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
        TAGS: json.dumps(_tags(plan, provider, machine)),
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


def _tags(plan: Plan, provider: str, machine: str) -> dict[str, str]:
    """Under which names a run is found again: by job, by machine, by what ran."""
    tags = {
        "job": plan.name,
        "provider": provider,
        "machine": machine,
        "instances": str(plan.instances),
        "world_size": str(plan.world_size),
        "strategy": plan.strategy.name,
        "source": plan.source.bundle.sha256,
    }
    return {name: text for name, text in tags.items() if text}

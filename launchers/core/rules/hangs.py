"""What a job may ask for in case it hangs."""

from __future__ import annotations

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.spec.job import END, JobSpec


def problems_in_hangs(job: JobSpec, has_agent: bool = True) -> list[Problem]:
    """An end for a job that never counts as hung, or of which nobody sees all ranks.

    Args:
        has_agent: Our agent starts the ranks, and knows of all of them.
    """
    if job.hang_action != END:
        return []
    rule, path = RULES["hang-action"], "--hang-action"
    if not job.hang_after:
        return [rule.at(path, "end, and no --hang-after")]
    if not has_agent:
        found = "end, for ranks that mpirun starts: each knows of itself alone"
        return [rule.at(path, found, "wait, which is the default", "leave it out")]
    return []

"""Rows of the plan that every cloud has, each made in one place."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from launchers.core.planning.plan import Row
from launchers.core.source.script import Source
from launchers.core.spec.job import EXCHANGE, INIT, STRICT, JobSpec


def source_rows(job: JobSpec, source: Source, no_variable: str = "none") -> list[Row]:
    """Script or module, arguments and the names of the variables.

    Args:
        no_variable: What is said where the job sets none.
    """
    folder = str(source.folder)
    script = Row("script", source.script, "the shared script" if source.shared else folder)
    module = Row("module", source.module, f"{source.script} in {folder}")
    return [
        module if source.module else script,
        Row("arguments", " ".join(shlex.quote(word) for word in job.arguments) or "none"),
        Row("environment", ", ".join(job.environment) or no_variable),
    ]


_ASKED = {
    EXCHANGE: "{}, and an exchange between the ranks where they train",
    INIT: "{} at hvd.init(), nothing more",
    STRICT: "{}, and every rank's evidence of an exchange where they train",
}


def proof_row(job: JobSpec, world_size: int) -> Row:
    """What the job must show before it is called a success."""
    size = f"world size {world_size}"
    text = _ASKED[job.proof].format(size) if world_size > 1 else size
    return Row("proof", text, f"--proof {job.proof}")


def pinning_row(gpus: int, pin: tuple[str, str]) -> Row:
    """Who gives each rank its GPU, and why."""
    return Row("GPUs", f"pinned by {pin[0]}" if gpus else "none", pin[1])


def place_rows(job: JobSpec, places: Mapping[str, str]) -> list[Row]:
    """Where code, checkpoints and output lie."""
    return [
        Row("code", places["code"]),
        Row(
            "checkpoints",
            places["checkpoints"],
            f"kept from {job.checkpoint_of}" if job.checkpoint_of else "",
        ),
        Row("output", places["output"]),
    ]


def secrets_rows(job: JobSpec) -> list[Row]:
    """The variables that come by reference; no row where there are none."""
    return [Row("secrets", ", ".join(job.secrets), "by reference")] if job.secrets else []


def requirements_rows(job: JobSpec, source: Source, where: str) -> list[Row]:
    """What is installed for the ranks, or a requirements.txt that nobody asked for.

    Args:
        where: How often, and where to, what was asked for is installed.
    """
    if job.requirements:
        return [Row("requirements", job.requirements, where)]
    if not source.requirements:
        return []
    return [
        Row(
            "requirements",
            "none",
            "requirements.txt was found and not asked for: --requirements requirements.txt",
        )
    ]

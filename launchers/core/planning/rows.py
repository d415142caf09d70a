"""Rows of the plan that every cloud has, each made in one place."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from launchers.core.planning.plan import Plan, Row
from launchers.core.planning.script_arguments import CHECKPOINTS, value_of
from launchers.core.spec.job import END, EXCHANGE, INIT, STRICT
from launchers.core.spec.value_types import format_duration


def source_rows(plan: Plan, no_variable: str = "none") -> list[Row]:
    """Script or module, arguments and the names of the variables.

    Args:
        no_variable: What is said where the job sets none.
    """
    from launchers.core.credentials.elsewhere import masked_arguments

    job, source = plan.job, plan.source
    folder = str(source.folder)
    where = "the shared script" if source.shared else folder
    script = Row("script", source.script, _joined(where, job.origin("script", "")))
    where = f"{source.script} in {folder}"
    module = Row("module", source.module, _joined(where, job.origin("module", "")))
    arguments = " ".join(map(_quoted, masked_arguments(job.arguments)))
    environment = "--env" if job.environment else ""
    return [
        module if source.module else script,
        Row("arguments", arguments or "none", job.origin("arguments", "")),
        Row("environment", ", ".join(job.environment) or no_variable, environment),
    ]


def _quoted(word: str) -> str:
    return word if word.startswith("***") or "=***" in word else shlex.quote(word)


def _joined(*origins: str) -> str:
    return ", ".join(filter(None, origins))


def tags_text(tags: Mapping[str, str]) -> str:
    """``team=vision, cost=3``, without a value that looks like a credential."""
    from launchers.core.credentials.elsewhere import masked

    return ", ".join(f"{key}={masked(value, key)}" for key, value in tags.items())


_ASKED = {
    EXCHANGE: "{}, and an exchange between the ranks where they train",
    INIT: "{} at {}, nothing more",
    STRICT: "{}, and every rank's evidence of an exchange where they train",
}


def proof_row(plan: Plan) -> Row:
    """What the job must show before it is called a success."""
    size = f"world size {plan.world_size}"
    text = (
        _ASKED[plan.job.proof].format(size, plan.strategy.strategy.joining)
        if plan.world_size > 1
        else size
    )
    return Row("proof", text, f"--proof {plan.job.proof}")


def hang_rows(plan: Plan) -> list[Row]:
    """When a job that hangs is told of, and what is done with it; no row where nobody asked."""
    if not plan.job.hang_after:
        return []
    after = format_duration(plan.job.hang_after)
    then = "the job ends" if plan.job.hang_action == END else "the job goes on"
    why = f"--hang-after, --hang-action {plan.job.hang_action}"
    return [Row("hangs", f"after {after} without progress: stacks in the log, {then}", why)]


def pinning_rows(plan: Plan) -> list[Row]:
    """How the ranks train together, as far as the source says; who gives each its GPU, and why."""
    text = f"pinned by {plan.pinning.by}" if plan.gpus else "none"
    return [*plan.strategy.rows, Row("GPUs", text, plan.pinning.why)]


def checkpoints_row(plan: Plan, place: str) -> Row:
    """Where the checkpoints lie, and whether an earlier run left some there."""
    inherited = plan.run.inherited
    given = "--checkpoint" if plan.job.checkpoint else ""
    why = f"kept from {inherited.name}" if inherited else given
    told = value_of(plan.job.arguments, CHECKPOINTS)
    if told and plan.source.shared:
        return Row("checkpoints", told, f"--{CHECKPOINTS}, an argument of the script")
    if told:
        depends = f"or where the script's own --{CHECKPOINTS} {told} says"
        return Row("checkpoints", place, _joined(why, depends))
    return Row("checkpoints", place, why)


def limits_rows(limits: Mapping[str, str]) -> list[Row]:
    """How long agents wait, where the job says it; no row where it does not."""
    text = ", ".join(f"{name} {time}" for name, time in limits.items())
    return [Row("limits", text, "--limit")] if text else []


def secrets_rows(plan: Plan) -> list[Row]:
    """The variables that come by reference; no row where there are none."""
    names = ", ".join(plan.job.secrets)
    return [Row("secrets", names, "by reference, --secret")] if names else []


def requirements_rows(plan: Plan, where: str) -> list[Row]:
    """What is installed for the ranks, or a requirements.txt that nobody asked for.

    Args:
        where: How often, and where to, what was asked for is installed.
    """
    if plan.job.requirements:
        given = plan.job.origin("requirements", "")
        return [Row("requirements", plan.job.requirements, _joined(where, given))]
    if not plan.source.has_requirements:
        return []
    return [
        Row(
            "requirements",
            "none",
            "requirements.txt was found and not asked for: --requirements requirements.txt",
        )
    ]

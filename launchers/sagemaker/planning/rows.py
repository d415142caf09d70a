"""The plan of a SageMaker job as it is shown: one row a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from launchers.core.planning.plan import Row, counted, layout
from launchers.core.planning.rows import (
    checkpoints_row,
    pinning_rows,
    proof_row,
    requirements_rows,
    secrets_rows,
    source_rows,
)
from launchers.core.spec.value_types import format_duration

if TYPE_CHECKING:
    from launchers.sagemaker.planning.plan import SageMakerPlan


def rows(plan: SageMakerPlan) -> Sequence[Row]:
    """What the user decides by: ranks first, then where each value came from."""
    job, machine, account = plan.job, plan.machine, plan.account
    gpu_model = machine.found.gpu_model if machine.found and machine.gpus else ""
    hardware = f"{counted(machine.gpus, 'GPU')} {gpu_model}".strip()
    found = [
        Row("ranks", f"{layout(plan.instances, plan.processes)}, by MPI"),
        proof_row(plan),
        Row("machine", f"{machine.name}, {hardware}", machine.origin),
        Row("image", plan.image.uri, plan.image.origin),
        Row("", plan.image.described()),
        *source_rows(plan),
        *plan.keras.rows,
        *pinning_rows(plan),
        Row("region", account.region, account.region_origin),
        Row("role", account.role, account.role_origin),
        Row("bucket", account.bucket, account.bucket_origin),
        Row("code", plan.code),
        checkpoints_row(plan, plan.checkpoints),
        Row("output", plan.output),
        *secrets_rows(plan),
    ]
    if job.max_runtime:
        found.append(Row("time limit", format_duration(job.max_runtime)))
    if job.spot:
        wait = format_duration(job.max_wait) if job.max_wait else "missing"
        found.append(Row("spot", f"waits and runs for at most {wait}"))
    return [*found, *requirements_rows(plan, "installed once a host")]

"""The plan of a Vertex AI job as it is shown: one row a decision."""

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
from launchers.vertex.tables import machines

if TYPE_CHECKING:
    from launchers.vertex.planning.plan import VertexPlan


def rows(plan: VertexPlan) -> Sequence[Row]:
    """What the user decides by: ranks first, then where each value came from."""
    machine, account, options = plan.machine, plan.account, plan.job.options
    hardware = f"{counted(machine.gpus, 'GPU')} {machine.gpu_model}".strip()
    return [
        Row("ranks", f"{layout(plan.instances, plan.processes)}, by our agent"),
        proof_row(plan),
        Row("machine", f"{machine.name}, {hardware}", machine.origin),
        *([Row("boot disk", options.boot_disk)] if options.boot_disk else []),
        *_reduction_rows(plan),
        Row("image", plan.image.uri, plan.image.origin),
        *source_rows(plan),
        *plan.keras.rows,
        *pinning_rows(plan),
        Row("project", account.project, account.project_origin),
        Row("location", account.location, account.location_origin),
        Row("bucket", account.bucket, account.bucket_origin),
        Row(
            "runs as",
            options.service_account or "the project's Vertex AI Custom Code Service Agent",
            "--service-account" if options.service_account else "default",
        ),
        Row("code", plan.code),
        checkpoints_row(plan, plan.checkpoints),
        Row("output", plan.output),
        *secrets_rows(plan),
        *_scheduling_rows(plan),
        *requirements_rows(plan, "installed once a replica"),
    ]


def _reduction_rows(plan: VertexPlan) -> list[Row]:
    options = plan.job.options
    if not options.reduction_servers:
        return []
    machine, image = machines.reduction_server()
    machine = options.reduction_server_machine or machine
    count = counted(options.reduction_servers, "replica")
    why = "the ranks' image needs Google's NCCL plugin (google-reduction-server)"
    return [Row("reduction servers", f"{count} of {machine}, {image}", why)]


def _scheduling_rows(plan: VertexPlan) -> list[Row]:
    job = plan.job
    origin = "--max-runtime" if job.max_runtime else "default"
    found = [Row("time limit", format_duration(plan.max_runtime), origin)]
    if job.options.flex_start:
        wait = f"at most {format_duration(job.max_wait)}" if job.max_wait else "the default: 24h"
        found.append(Row("flex-start", f"queues for its machines, {wait}"))
    if job.spot:
        found.append(Row("spot", "machines may be taken back; the service then starts again"))
    if plan.restarts_together:
        found.append(Row("restart", "of one replica restarts the whole job", "several hosts"))
    elif job.options.disable_retries:
        found.append(Row("restart", "never", "--disable-retries"))
    return found

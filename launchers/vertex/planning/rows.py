"""The plan of a Vertex AI job as it is shown: one row a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.planning.plan import Row, counted, layout
from launchers.core.planning.rows import (
    pinning_row,
    place_rows,
    proof_row,
    requirements_rows,
    secrets_rows,
    source_rows,
)
from launchers.core.source.script import Source
from launchers.core.spec.job import JobSpec
from launchers.core.spec.value_types import format_duration
from launchers.vertex.planning.account import Account
from launchers.vertex.planning.image_choice import ImageChoice
from launchers.vertex.planning.machine_choice import MachineChoice
from launchers.vertex.tables import machines


def rows(
    job: JobSpec,
    source: Source,
    machine: MachineChoice,
    image: ImageChoice,
    account: Account,
    processes: int,
    pin: tuple[str, str],
    places: Mapping[str, str],
    scheduling: Mapping[str, Any],
) -> tuple[Row, ...]:
    """What the user decides by: ranks first, then where each value came from."""
    hardware = f"{counted(machine.gpus, 'GPU')} {machine.gpu_model}".strip()
    return (
        Row("ranks", f"{layout(job.instances, processes)}, by our agent"),
        proof_row(job, job.instances * processes),
        Row("machine", f"{machine.name}, {hardware}", machine.origin),
        *([Row("boot disk", job.options.boot_disk)] if job.options.boot_disk else []),
        *_reduction_rows(job),
        Row("image", image.uri, image.origin),
        *source_rows(job, source),
        pinning_row(machine.gpus, pin),
        Row("project", account.project, account.project_origin),
        Row("location", account.location, account.location_origin),
        Row("bucket", account.bucket, account.bucket_origin),
        Row(
            "runs as",
            job.options.service_account or "the project's Vertex AI Custom Code Service Agent",
            "--service-account" if job.options.service_account else "default",
        ),
        *place_rows(job, places),
        *secrets_rows(job),
        *_scheduling_rows(job, scheduling),
        *requirements_rows(job, source, "installed once a replica"),
    )


def _reduction_rows(job: JobSpec) -> list[Row]:
    if not job.options.reduction_servers:
        return []
    machine, image = machines.reduction_server()
    machine = job.options.reduction_server_machine or machine
    count = counted(job.options.reduction_servers, "replica")
    why = "the ranks' image needs Google's NCCL plugin (google-reduction-server)"
    return [Row("reduction servers", f"{count} of {machine}, {image}", why)]


def _scheduling_rows(job: JobSpec, scheduling: Mapping[str, Any]) -> list[Row]:
    limit = format_duration(int(scheduling["timeout"].removesuffix("s")))
    found = [Row("time limit", limit, "--max-runtime" if job.max_runtime else "default")]
    if job.options.flex_start:
        wait = f"at most {format_duration(job.max_wait)}" if job.max_wait else "the default: 24h"
        found.append(Row("flex-start", f"queues for its machines, {wait}"))
    if job.spot:
        found.append(Row("spot", "machines may be taken back; the service then starts again"))
    if scheduling.get("restartJobOnWorkerRestart"):
        found.append(Row("restart", "of one replica restarts the whole job", "several hosts"))
    elif job.options.disable_retries:
        found.append(Row("restart", "never", "--disable-retries"))
    return found

"""The plan of a SageMaker job as it is shown: one row a decision."""

from __future__ import annotations

from collections.abc import Mapping

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
from launchers.sagemaker.planning.account import Account
from launchers.sagemaker.planning.image_choice import ImageChoice
from launchers.sagemaker.planning.machine_choice import MachineChoice


def rows(
    job: JobSpec,
    source: Source,
    machine: MachineChoice,
    image: ImageChoice,
    account: Account,
    processes: int,
    pin: tuple[str, str],
    places: Mapping[str, str],
) -> tuple[Row, ...]:
    """What the user decides by: ranks first, then where each value came from."""
    gpu_model = machine.found.gpu_model if machine.found and machine.gpus else ""
    hardware = f"{counted(machine.gpus, 'GPU')} {gpu_model}".strip()
    found = [
        Row("ranks", f"{layout(job.instances, processes)}, by MPI"),
        proof_row(job, job.instances * processes),
        Row("machine", f"{machine.name}, {hardware}", machine.origin),
        Row("image", image.uri, image.origin),
        Row("", image.described()),
        *source_rows(job, source),
        pinning_row(machine.gpus, pin),
        Row("region", account.region, account.region_origin),
        Row("role", account.role, account.role_origin),
        Row("bucket", account.bucket, account.bucket_origin),
        *place_rows(job, places),
        *secrets_rows(job),
    ]
    if job.max_runtime:
        found.append(Row("time limit", format_duration(job.max_runtime)))
    if job.spot:
        wait = format_duration(job.max_wait) if job.max_wait else "missing"
        found.append(Row("spot", f"waits and runs for at most {wait}"))
    return (*found, *requirements_rows(job, source, "installed once a host"))

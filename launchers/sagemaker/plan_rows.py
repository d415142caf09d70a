"""The plan of a SageMaker job as it is shown: one row a decision."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from launchers.core.job import JobSpec
from launchers.core.kinds import format_duration
from launchers.core.plan import Row, counted, layout
from launchers.core.source import Source
from launchers.sagemaker.account import Account
from launchers.sagemaker.image_choice import ImageChoice
from launchers.sagemaker.machine_choice import MachineChoice


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
        Row("machine", f"{machine.name}, {hardware}", machine.origin),
        Row("image", image.uri, image.origin),
        Row("", image.described()),
        Row("script", source.script, "the shared script" if source.shared else str(source.folder)),
        Row("arguments", " ".join(shlex.quote(word) for word in job.arguments) or "none"),
        Row("environment", ", ".join(job.environment) or "none"),
        Row("GPUs", f"pinned by {pin[0]}" if machine.gpus else "none", pin[1]),
        Row("region", account.region, account.region_origin),
        Row("role", account.role, account.role_origin),
        Row("bucket", account.bucket, account.bucket_origin),
        Row("code", places["code"]),
        Row(
            "checkpoints",
            places["checkpoints"],
            f"kept from {job.checkpoint_of}" if job.checkpoint_of else "",
        ),
        Row("output", places["output"]),
    ]
    if job.secrets:
        found.append(Row("secrets", ", ".join(job.secrets), "by reference"))
    if job.max_runtime:
        found.append(Row("time limit", format_duration(job.max_runtime)))
    if job.spot:
        wait = format_duration(job.max_wait) if job.max_wait else "missing"
        found.append(Row("spot", f"waits and runs for at most {wait}"))
    if not job.requirements and source.requirements:
        found.append(
            Row(
                "requirements",
                "none",
                "requirements.txt was found and not asked for: --requirements requirements.txt",
            )
        )
    return tuple(found)

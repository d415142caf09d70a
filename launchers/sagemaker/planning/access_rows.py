"""The rows of a plan that say what its job pays for besides machines, and what it opens."""

from __future__ import annotations

from launchers.core.planning.plan import Row
from launchers.core.planning.rows import tags_text
from launchers.core.spec.value_types import format_duration
from launchers.sagemaker.options import SageMakerJob


def access_rows(job: SageMakerJob) -> list[Row]:
    """A row for each field that is sent and costs money or opens access."""
    options, found = job.options, []
    for name, place in options.channels.items():
        found.append(Row("channel", f"{name} from {place}", "--channel"))
    if options.subnets or options.security_groups:
        network = ", ".join([*options.subnets, *options.security_groups])
        found.append(Row("network", network, "--subnet, --security-group"))
    if options.private_registry:
        by = {"vpc": "open in the VPC"}.get(options.private_registry, options.private_registry)
        found.append(Row("registry", f"a private one, {by}", "--private-registry"))
    keys = {
        "--volume-key": ("the disks", options.volume_key),
        "--output-key": ("the model", options.output_key),
    }
    found += [Row("key", f"{key} for {what}", flag) for flag, (what, key) in keys.items() if key]
    if options.training_plan:
        found.append(Row("training plan", options.training_plan, "--training-plan"))
    if options.keep_alive:
        kept = f"machines are kept, and paid for, {format_duration(options.keep_alive)} more"
        found.append(Row("warm pool", kept, "--keep-alive"))
    if options.volume_size:
        found.append(Row("disk", f"{options.volume_size} GB each host", "--volume-size"))
    if options.retries:
        found.append(Row("retries", f"up to {options.retries}", "--retries"))
    if options.tensorboard:
        found.append(Row("TensorBoard", options.tensorboard, "--tensorboard"))
    if options.remote_debug:
        found.append(Row("remote debug", "shells in the containers", "--remote-debug"))
    if options.isolate:
        found.append(Row("isolation", "no network in the containers", "--isolate"))
    tags = tags_text(job.tags)
    return [*found, *([Row("tags", tags, "--tag")] if tags else [])]

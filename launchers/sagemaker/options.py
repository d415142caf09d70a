"""What only `launch sagemaker` has: fields of CreateTrainingJob that no other provider knows.

Limits are those of the service's model; the rules check them in the rendered document, so a kind
here is only as strict as it takes to understand the value.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from launchers.core.spec.job import JobSpec, ProviderOptions, option
from launchers.core.spec.value_types import Count, Duration, Pairs, Size, Switch, Text, Words

_ARN_ROLE = r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+"


@dataclass(frozen=True)
class Channels(Pairs):
    """``train=s3://bucket/prefix[,sharded][,fastfile|,pipe]``; in YAML a mapping of the same."""

    name_pattern: str = r"[A-Za-z0-9._-]{1,64}"
    what: str = "NAME=s3://BUCKET/PREFIX[,sharded][,fastfile|,pipe]"

    def parse(self, value: Any) -> dict[str, str]:
        parsed = super().parse(value)
        for text in parsed.values():
            place, *words = text.split(",")
            known = len(words) == len(set(words)) and set(words) <= {"sharded", "fastfile", "pipe"}
            if not re.match(r"s3://[^/]", place) or not known or {"fastfile", "pipe"} <= set(words):
                raise ValueError
        return parsed


@dataclass(frozen=True, kw_only=True)
class SageMakerOptions(ProviderOptions):
    """The keys under ``sagemaker:`` and the flags of `launch sagemaker` alone."""

    framework: Annotated[
        str | None, Text(r"(tensorflow|pytorch)-\d+(\.\d+){1,2}", "such as tensorflow-2.12")
    ] = option(
        "--framework",
        metavar="NAME-VERSION",
        help="An AWS Deep Learning Container that carries Horovod. Default: tensorflow-2.12.",
    )
    role: Annotated[str | None, Text(_ARN_ROLE, "a role's ARN: arn:aws:iam::ACCOUNT:role/NAME")] = (
        option("--role", metavar="ARN", help="The role that the job runs as.")
    )
    channels: Annotated[dict[str, str], Channels()] = option(
        "--channel",
        metavar="NAME=S3",
        default={},
        help="Input data: train=s3://bucket/data[,sharded][,fastfile] (repeatable).",
    )
    max_pending: Annotated[int | None, Duration()] = option(
        "--max-pending", metavar="2h", help="Give up when no machine came after this time."
    )
    volume_size: Annotated[int | None, Size(1, 16384)] = option(
        "--volume-size", metavar="500GB", help="The disk of each host. Default: 30GB."
    )
    volume_key: Annotated[str | None, Text()] = option(
        "--volume-key", metavar="KMS", help="The key that encrypts the disk."
    )
    output_key: Annotated[str | None, Text()] = option(
        "--output-key", metavar="KMS", help="The key that encrypts the model."
    )
    subnets: Annotated[tuple[str, ...], Words()] = option(
        "--subnet", metavar="ID", default=(), help="A subnet of the VPC (repeatable)."
    )
    security_groups: Annotated[tuple[str, ...], Words()] = option(
        "--security-group", metavar="ID", default=(), help="A security group (repeatable)."
    )
    isolate: Annotated[bool, Switch()] = option(
        "--isolate", default=False, help="No network in the containers."
    )
    encrypt_traffic: Annotated[bool, Switch()] = option(
        "--encrypt-traffic", default=False, help="Encrypt what hosts send to each other."
    )
    keep_alive: Annotated[int | None, Duration(0, 21600)] = option(
        "--keep-alive", metavar="30m", help="Keep the machines for the next job (warm pool)."
    )
    retries: Annotated[int | None, Count(1, 30)] = option(
        "--retries", metavar="N", help="Starts again after an internal error of the service."
    )
    metrics: Annotated[dict[str, str], Pairs(name_pattern=r"[^=]{1,255}", what="NAME=REGEX")] = (
        option(
            "--metric",
            metavar="NAME=REGEX",
            default={},
            help="A metric that the service reads from the log (repeatable).",
        )
    )
    mpi_options: Annotated[tuple[str, ...], Words()] = option(
        "--mpi-option",
        metavar="'-x NAME=VALUE'",
        default=(),
        help="An option for mpirun: -x NAME[=VALUE], --mca KEY VALUE, -verbose (repeatable).",
    )


SageMakerJob = JobSpec[SageMakerOptions]

"""What only `launch sagemaker` has: fields of CreateTrainingJob that no other provider knows.

Limits are those of the service's model; the rules check them in the rendered document, so a kind
here is only as strict as it takes to understand the value.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from launchers.core.spec.compound_types import Pairs, Words
from launchers.core.spec.job import JobSpec, ProviderOptions
from launchers.core.spec.option import option
from launchers.core.spec.request_type import RequestFields
from launchers.core.spec.value_types import Count, Duration, Size, Switch, Text

_ARN = r"arn:aws[a-z-]*"
_ARN_ROLE = rf"{_ARN}:iam::\d{{12}}:role/[\w+=,.@/-]+"
_ARN_PLAN = rf"{_ARN}:sagemaker:[a-z0-9-]+:\d{{12}}:training-plan/[\w.-]+"
_ARN_FUNCTION = rf"{_ARN}:lambda:[a-z0-9-]+:\d{{12}}:function:[\w:$-]+"
# A key's id (a UUID, or a multi-Region key's), its alias, or the ARN of either.
_KEY = (
    rf"({_ARN}:kms:[a-z0-9-]+:\d{{12}}:(key|alias)/[\w/-]+|alias/[\w/-]+"
    r"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})"
)
_KEY_EXPECTED = "a KMS key: its id, alias/NAME, or the ARN of either"
# EC2's ids end in 8 digits, newer ones in 17.
_ID = r"[0-9a-f]{8}([0-9a-f]{9})?"
_FILE_SYSTEM = re.compile(r"(fsx|efs)://(?P<id>fs-[0-9a-f]{8,17})(?P<path>/.+)")
# The name of each kind of file system in the API, by the scheme of a channel.
FILE_SYSTEMS = {"fsx": "FSxLustre", "efs": "EFS"}


@dataclass(frozen=True)
class Channels(Pairs):
    """``train=s3://bucket/prefix[,sharded][,fastfile|,pipe]``, or a folder of a file system,
    ``train=fsx://fs-ID/MOUNT/path[,rw]`` and ``efs://fs-ID/path[,rw]``; in YAML a mapping."""

    name_pattern: str = r"[A-Za-z0-9._-]{1,64}"
    what: str = (
        "NAME=s3://BUCKET/PREFIX[,sharded][,fastfile|,pipe], "
        "or NAME=fsx://fs-ID/MOUNT/PATH[,rw], or NAME=efs://fs-ID/PATH[,rw]"
    )

    def takes(self, text: str) -> bool:
        place, *words = text.split(",")
        folder = _FILE_SYSTEM.fullmatch(place)
        known = {"rw"} if folder else {"sharded", "fastfile", "pipe"}
        right = folder or re.match(r"s3://[^/]", place)
        fits = set(words) <= known and len(words) == len(set(words))
        return bool(right) and fits and not {"fastfile", "pipe"} <= set(words)


def file_system(place: str) -> tuple[str, str, str] | None:
    """Kind, id and folder of ``fsx://fs-ID/MOUNT/path`` in the API's words; None for S3."""
    match = _FILE_SYSTEM.fullmatch(place)
    return (FILE_SYSTEMS[match[1]], match["id"], match["path"]) if match else None


@dataclass(frozen=True, kw_only=True)
class SageMakerOptions(ProviderOptions):
    """The keys under ``sagemaker:`` and the flags of `launch sagemaker` alone."""

    framework: Annotated[
        str | None, Text(r"(tensorflow|pytorch)-\d+(\.\d+){1,2}", "such as tensorflow-2.12")
    ] = option(
        "--framework",
        metavar="NAME-VERSION",
        group="what",
        help="An AWS Deep Learning Container. Default: tensorflow-2.12 for Horovod, else the "
        "newest that AWS patches.",
    )
    role: Annotated[str | None, Text(_ARN_ROLE, "a role's ARN: arn:aws:iam::ACCOUNT:role/NAME")] = (
        option(
            "--role",
            metavar="ARN",
            group="where",
            help="The role that it runs as. Default: the account's.",
        )
    )
    channels: Annotated[dict[str, str], Channels()] = option(
        "--channel",
        metavar="NAME=PLACE",
        default={},
        group="data",
        help="Input data: train=s3://BUCKET/DATA[,sharded][,fastfile], or fsx://fs-ID/MOUNT/DATA "
        "or efs://fs-ID/DATA[,rw] (repeatable).",
    )
    max_pending: Annotated[int | None, Duration()] = option(
        "--max-pending",
        metavar="2h",
        group="money",
        rare=True,
        help="Give up when no machine came after this time.",
    )
    volume_size: Annotated[int | None, Size(1, 16384)] = option(
        "--volume-size", metavar="500GB", group="data", help="The disk of each host. Default: 30GB."
    )
    training_plan: Annotated[
        str | None, Text(_ARN_PLAN, "a training plan's ARN: arn:aws:sagemaker:...:training-plan/X")
    ] = option(
        "--training-plan",
        metavar="ARN",
        group="where",
        rare=True,
        help="Machines of this training plan, reserved.",
    )
    volume_key: Annotated[str | None, Text(_KEY, _KEY_EXPECTED)] = option(
        "--volume-key",
        metavar="KMS",
        group="safety",
        rare=True,
        help="The key that encrypts the disk.",
    )
    output_key: Annotated[str | None, Text(_KEY, _KEY_EXPECTED)] = option(
        "--output-key",
        metavar="KMS",
        group="safety",
        rare=True,
        help="The key that encrypts the model.",
    )
    subnets: Annotated[
        tuple[str, ...], Words(f"subnet-{_ID}", "a subnet's id, subnet-0123456789abcdef0")
    ] = option(
        "--subnet",
        metavar="ID",
        default=(),
        group="where",
        rare=True,
        help="A subnet of the VPC (repeatable).",
    )
    security_groups: Annotated[
        tuple[str, ...], Words(f"sg-{_ID}", "a security group's id, sg-0123456789abcdef0")
    ] = option(
        "--security-group",
        metavar="ID",
        default=(),
        group="where",
        rare=True,
        help="A security group (repeatable).",
    )
    private_registry: Annotated[
        str | None,
        Text(f"vpc|{_ARN_FUNCTION}", "vpc, or the ARN of a Lambda function that gives credentials"),
    ] = option(
        "--private-registry",
        metavar="vpc|ARN",
        group="what",
        rare=True,
        help="The image is in a Docker registry of the VPC, open there (vpc) or with the "
        "credentials that this Lambda function gives.",
    )
    isolate: Annotated[bool, Switch()] = option(
        "--isolate", default=False, group="safety", rare=True, help="No network in the containers."
    )
    encrypt_traffic: Annotated[bool, Switch()] = option(
        "--encrypt-traffic",
        default=False,
        group="safety",
        rare=True,
        help="Encrypt what hosts send to each other.",
    )
    keep_alive: Annotated[int | None, Duration(0, 21600)] = option(
        "--keep-alive",
        metavar="30m",
        group="money",
        rare=True,
        help="Keep the machines for the next job (warm pool).",
    )
    retries: Annotated[int | None, Count(1, 30)] = option(
        "--retries",
        metavar="N",
        group="money",
        rare=True,
        help="Starts again after an internal error of the service.",
    )
    metrics: Annotated[dict[str, str], Pairs(name_pattern=r"[^=]{1,255}", what="NAME=REGEX")] = (
        option(
            "--metric",
            metavar="NAME=REGEX",
            default={},
            group="output",
            rare=True,
            help="A metric that the service reads from the log (repeatable).",
        )
    )
    tensorboard: Annotated[str | None, Text(r"s3://[^/].*", "a place in S3, s3://...")] = option(
        "--tensorboard",
        metavar="S3",
        group="output",
        rare=True,
        help="Where TensorBoard's files go while the job runs.",
    )
    remote_debug: Annotated[bool, Switch()] = option(
        "--remote-debug",
        default=False,
        group="output",
        rare=True,
        help="Shells in the containers, through AWS Systems Manager.",
    )
    mpi_options: Annotated[tuple[str, ...], Words()] = option(
        "--mpi-option",
        metavar="'-x NAME=VALUE'",
        default=(),
        group="what",
        rare=True,
        help="An option for mpirun: -x NAME[=VALUE], --mca KEY VALUE, -verbose (repeatable).",
    )
    request: Annotated[
        dict[str, Any], RequestFields("launchers.sagemaker.planning.request:schema")
    ] = option(
        default={},
        group="what",
        help="Fields of the service's own request that no flag sets, by their names.",
    )


SageMakerJob = JobSpec[SageMakerOptions]

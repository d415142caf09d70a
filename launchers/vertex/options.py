"""What only `launch vertex` has: fields of CustomJob that no other provider knows.

A kind here is only as strict as it takes to read the value: the plan checks what concerns flags,
the rules what stands in the rendered document, so that all mistakes are told at once.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from launchers.core.spec.compound_types import Pairs, Words
from launchers.core.spec.job import JobSpec, ProviderOptions
from launchers.core.spec.limits import Limits
from launchers.core.spec.option import option
from launchers.core.spec.request_type import RequestFields
from launchers.core.spec.value_types import Count, Switch, Text


@dataclass(frozen=True)
class NfsMounts(Pairs):
    """``data=10.0.0.2:/exports/data``, which is mounted at /mnt/nfs/data; in YAML a mapping."""

    name_pattern: str = r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*"
    what: str = "NAME=SERVER:/PATH, mounted at /mnt/nfs/NAME"

    def takes(self, text: str) -> bool:
        return re.fullmatch(r"[^:/\s]+:/\S*", text) is not None


@dataclass(frozen=True, kw_only=True)
class VertexOptions(ProviderOptions):
    """The keys under ``vertex:`` and the flags of `launch vertex` alone."""

    project: Annotated[str | None, Text()] = option(
        "--project", metavar="ID", group="where", help="The Google Cloud project."
    )
    accelerator: Annotated[str | None, Text()] = option(
        "--accelerator",
        metavar="TYPE:N",
        group="where",
        help="The GPUs of each host by type, such as NVIDIA_TESLA_T4:4, with an n1 --machine "
        "or on a default one.",
    )
    service_account: Annotated[str | None, Text()] = option(
        "--service-account",
        metavar="EMAIL",
        group="where",
        help="The service account that the job runs as.",
    )
    network: Annotated[str | None, Text()] = option(
        "--network",
        metavar="NAME",
        group="where",
        rare=True,
        help="The VPC to peer with: projects/NUMBER/global/networks/NAME.",
    )
    reserved_ip_ranges: Annotated[tuple[str, ...], Words()] = option(
        "--reserved-ip-range",
        metavar="NAME",
        default=(),
        group="where",
        rare=True,
        help="An IP range of that VPC for the job (repeatable).",
    )
    network_attachment: Annotated[str | None, Text()] = option(
        "--network-attachment",
        "--psc-interface",
        metavar="NAME",
        group="where",
        rare=True,
        help="The network attachment of a Private Service Connect interface.",
    )
    flex_start: Annotated[bool, Switch()] = option(
        "--flex-start",
        default=False,
        group="money",
        rare=True,
        help="Queue for machines (Dynamic Workload Scheduler).",
    )
    disable_retries: Annotated[bool, Switch()] = option(
        "--disable-retries",
        default=False,
        group="money",
        rare=True,
        help="End the job at an internal error of the service, too.",
    )
    reservations: Annotated[tuple[str, ...], Words()] = option(
        "--reservation",
        metavar="NAME|any",
        default=(),
        key="reservation",
        group="where",
        rare=True,
        help="Machines of a reservation: projects/P/zones/Z/reservations/NAME (repeatable).",
    )
    persistent_resource: Annotated[str | None, Text()] = option(
        "--persistent-resource",
        metavar="ID",
        group="where",
        rare=True,
        help="Run on this persistent resource's machines.",
    )
    reduction_servers: Annotated[int | None, Count(1, 1000)] = option(
        "--reduction-servers",
        metavar="N",
        group="where",
        rare=True,
        help="Replicas that add gradients up. The ranks' image needs Google's NCCL plugin.",
    )
    reduction_server_machine: Annotated[str | None, Text()] = option(
        "--reduction-server-machine",
        metavar="TYPE",
        group="where",
        rare=True,
        help="The servers' machine type. Default: n1-highcpu-16.",
    )
    reduction_server_disk: Annotated[str | None, Text()] = option(
        "--reduction-server-disk",
        metavar="TYPE:GB",
        group="where",
        rare=True,
        help="The servers' disk, such as pd-ssd:200, or 200. Default: the service's.",
    )
    nfs_mounts: Annotated[dict[str, str], NfsMounts()] = option(
        "--nfs-mount",
        metavar="NAME=SERVER:/PATH",
        default={},
        group="data",
        help="An NFS share, which each replica finds at /mnt/nfs/NAME (repeatable).",
    )
    encryption_key: Annotated[str | None, Text()] = option(
        "--encryption-key",
        metavar="KMS",
        group="safety",
        rare=True,
        help="The Cloud KMS key that encrypts the job.",
    )
    boot_disk: Annotated[str | None, Text()] = option(
        "--boot-disk",
        metavar="TYPE:GB",
        group="data",
        help="The disk of each rank's replica, such as pd-ssd:200, or 200. Default: the service's.",
    )
    web_access: Annotated[bool, Switch()] = option(
        "--web-access",
        default=False,
        group="output",
        rare=True,
        help="Shells in the replicas, from the console.",
    )
    dashboard_access: Annotated[bool, Switch()] = option(
        "--dashboard-access",
        default=False,
        group="output",
        rare=True,
        help="Dashboards of the replicas, such as Ray's, from the console.",
    )
    experiment: Annotated[str | None, Text()] = option(
        "--experiment",
        metavar="NAME",
        group="output",
        rare=True,
        help="The Vertex AI experiment that the job belongs to.",
    )
    experiment_run: Annotated[str | None, Text()] = option(
        "--experiment-run",
        metavar="NAME",
        group="output",
        rare=True,
        help="The run of that experiment.",
    )
    tensorboard: Annotated[str | None, Text()] = option(
        "--tensorboard",
        metavar="NAME",
        group="output",
        rare=True,
        help="A TensorBoard to fill: projects/P/locations/L/tensorboards/ID.",
    )
    limits: Annotated[dict[str, str], Limits()] = option(
        "--limit",
        metavar="NAME=TIME",
        default={},
        group="safety",
        rare=True,
        help="How long agents wait: join, host, bundle, stop, init or reminder (repeatable).",
    )
    request: Annotated[
        dict[str, Any], RequestFields("launchers.vertex.planning.request:schema")
    ] = option(
        default={},
        group="what",
        help="Fields of the service's own request that no flag sets, by their names.",
    )


VertexJob = JobSpec[VertexOptions]

"""The rows of a plan that say what its job pays for besides machines, and what it opens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.planning.plan import Row
from launchers.core.planning.rows import tags_text
from launchers.vertex.options import VertexJob


def access_rows(job: VertexJob, sent: Mapping[str, Any]) -> list[Row]:
    """A row for each field that is sent and costs money or opens access.

    Args:
        sent: The plan's optional fields, for the whole names of what a flag names in short.
    """
    options = job.options
    network = [options.network, *options.reserved_ip_ranges] if options.network else []
    texts = [
        ("reservation", ", ".join(options.reservations), "--reservation"),
        ("machines", options.persistent_resource, "--persistent-resource"),
        ("network", ", ".join(network), "--network"),
        ("network", options.network_attachment, "--network-attachment"),
        ("key", options.encryption_key, "--encryption-key"),
        ("web access", "shells in the replicas" if options.web_access else "", "--web-access"),
        ("dashboards", "of the replicas" if options.dashboard_access else "", "--dashboard-access"),
        ("TensorBoard", options.tensorboard, "--tensorboard"),
        ("experiment", sent["experiment"], "--experiment"),
        ("experiment run", sent["experiment_run"], "--experiment-run"),
        ("labels", tags_text(job.tags), "--tag"),
    ]
    mounts = [
        Row("NFS", f"{place} at /mnt/nfs/{name}", "--nfs-mount")
        for name, place in options.nfs_mounts.items()
    ]
    return [*mounts, *(Row(label, text, flag) for label, text, flag in texts if text)]

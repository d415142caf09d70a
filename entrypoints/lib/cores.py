"""How many threads a rank should compute with."""

from __future__ import annotations

import json
import os
from typing import Mapping


def threads_per_rank(processes: int, environment: Mapping[str, str]) -> int | None:
    """The cores of this machine divided by the ranks on it; None where the user has decided.

    A framework alone would take as many threads as there are cores in each rank. Two ranks on two
    cores, six interleaved rounds, medians: TensorFlow trains the digits at 6,800 images/s with a
    thread each and at 5,500 with two each; the larger steps of fashion-mnist show no difference.
    Simulated hosts share one machine: a cluster whose hosts all have a loopback address is one.

    Args:
        processes: Ranks on this host.
        environment: The process's.
    """
    if environment.get("TF_NUM_INTRAOP_THREADS") or environment.get("OMP_NUM_THREADS"):
        return None
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    return max(1, cores // (processes * _hosts_on_this_machine(environment)))


def _hosts_on_this_machine(environment: Mapping[str, str]) -> int:
    try:
        hosts = json.loads(environment.get("LAUNCH_CLUSTER", ""))["hosts"]
        addresses = [str(host["address"]) for host in hosts]
    except (ValueError, KeyError, TypeError):
        return 1
    local = all(address.startswith("127.") or address == "localhost" for address in addresses)
    return len(addresses) if local and addresses else 1

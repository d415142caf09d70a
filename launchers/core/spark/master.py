"""Which cluster a ``--master`` names, read as Spark reads it.

Source: SparkMasterRegex and SparkContext.createTaskScheduler of Spark 3.5; "Master URLs" in
"Submitting Applications" (spark.apache.org/docs/3.5.3/submitting-applications.html).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

Kind = Literal["local", "local-cluster", "standalone", "yarn", "kubernetes"]

# Spark's own patterns, with numbers that it can hold.
_NUMBER = r"[0-9]{1,9}"
_LOCAL = re.compile(rf"local(?:\[({_NUMBER}|\*)(?:\s*,\s*({_NUMBER}))?\])?")
_LOCAL_CLUSTER = re.compile(
    rf"local-cluster\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})\s*]"
)
# A machine's name, its IPv4 address, or an IPv6 one in brackets; each with its port. Spark takes
# the host that java.net.URI finds: in a name no `_`, and the last of several labels begins with a
# letter.
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = rf"{_LABEL}|(?:{_LABEL}\.)+(?=[A-Za-z]){_LABEL}"
_ADDRESS = rf"(?:{_BYTE}(?:\.{_BYTE}){{3}}|{_NAME}|\[[0-9A-Fa-f:]+\]):[0-9]{{1,5}}"
_STANDALONE = re.compile(rf"spark://{_ADDRESS}(?:,{_ADDRESS})*")
# Without a scheme Spark takes https; a path stands where a proxy is before the API server.
_KUBERNETES = re.compile(
    r"k8s://((?:https?://)?(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?)(?:/\S*)?"
)


@dataclass(frozen=True)
class Master:
    """A cluster manager, or Spark in one process.

    Attributes:
        text: As ``--master`` has it.
        threads: Of ``local[N]``: how many tasks run at once; None for ``*``, all cores of the
            driver's machine.
        tries: Of ``local[N,F]``: how often a task may fail before its job does.
        workers: Of ``local-cluster[N,C,M]``, with their ``cores`` and their ``memory`` in MiB.
    """

    text: str
    kind: Kind
    threads: int | None = None
    tries: int = 1
    workers: int = 0
    cores: int = 0
    memory: int = 0


def read_master(text: str) -> Master | None:
    """What ``text`` names; None where Spark 3.5 takes no such master."""
    local = _LOCAL.fullmatch(text)
    if local:
        threads = local[1] or "1"
        tries = int(local[2]) if local[2] else 1
        known = None if threads == "*" else int(threads)
        return Master(text, "local", threads=known, tries=tries) if known != 0 and tries else None
    cluster = _LOCAL_CLUSTER.fullmatch(text)
    if cluster:
        workers, cores, memory = map(int, cluster.groups())
        if not (workers and cores and memory):
            return None
        return Master(text, "local-cluster", workers=workers, cores=cores, memory=memory)
    if _STANDALONE.fullmatch(text):
        ports = [int(one.rpartition(":")[2]) for one in text.split(",")]
        return Master(text, "standalone") if all(0 < port < 65536 for port in ports) else None
    if text == "yarn":
        return Master(text, "yarn")
    api_server = _KUBERNETES.fullmatch(text)
    return Master(text, "kubernetes") if api_server and _is_address(api_server[1]) else None


def _is_address(server: str) -> bool:
    """Whether an API server's port, and its IPv6 address where it has one, can be any."""
    try:
        return urlsplit(server if "://" in server else f"https://{server}").port != 0
    except ValueError:
        return False

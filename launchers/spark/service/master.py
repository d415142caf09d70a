"""Whether the cluster answers, asked before anything is started."""

from __future__ import annotations

import os
import re
import socket
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

from launchers.core.model.problems import Problem
from launchers.core.spark.master import read_master
from launchers.spark.catalogue import RULES
from launchers.spark.planning.spark_home import version_of
from launchers.spark.service.users_conf import sets_variable

_SECONDS = 5.0
_PAGE_SECONDS = 2.0
_PORTS = {"https": 443, "http": 80}  # of a k8s:// address that names none
_PAGE_PORT = "8080"  # spark.master.ui.port's default
_PAGE_BYTES = 1 << 16
_VERSION = re.compile(r'<span class="version"[^>]*>\s*v?(\d+\.\d+\.\d+)')


def master_problems(master: str, spark_home: str) -> list[Problem]:
    """A master that does not answer, or that is of another Spark than the one in ``spark_home``.
    Asks it, for seconds at most."""
    named = read_master(master)
    kind = named.kind if named else ""
    if kind == "yarn":
        return _yarn_problems(spark_home)
    if kind not in ("standalone", "kubernetes"):
        return []
    places = list(_places(master))
    reasons = [_why_unreachable(host, port) for host, port in places]
    if all(reasons):
        found = "; ".join(
            f"{host}:{port} {reason}" for (host, port), reason in zip(places, reasons, strict=True)
        )
        return [RULES["spark-master-silent"].at("--master", found)]
    return _version_problems(master, spark_home) if kind == "standalone" else []


def _yarn_problems(spark_home: str) -> list[Problem]:
    names = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
    if any(os.environ.get(name) for name in names) or sets_variable(spark_home, *names):
        return []
    return [RULES["spark-yarn-conf"].at("--master", "yarn, and neither variable is set")]


def _places(master: str) -> Iterator[tuple[str, int]]:
    """The addresses of a standalone master and its standbys, or of a Kubernetes API server."""
    if master.startswith("k8s://"):
        address = master.removeprefix("k8s://")
        parts = urlsplit(address if "://" in address else f"https://{address}")
        yield parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
        return
    for one in master.removeprefix("spark://").split(","):
        host, _, port = one.rpartition(":")
        yield host.strip("[]"), int(port)


def _why_unreachable(host: str, port: int) -> str:
    """Empty where something listens there."""
    try:
        with socket.create_connection((host, port), timeout=_SECONDS):
            return ""
    except TimeoutError:
        return f"does not answer within {_SECONDS:.0f} s"
    except OSError as error:
        return f"cannot be reached: {error.strerror or error}"


def _version_problems(master: str, spark_home: str) -> list[Problem]:
    """The version stands on the master's own page, where that is at its usual port; else the
    cluster is not asked, and spark-submit's log says what it thinks of the driver."""
    ours = version_of(spark_home)
    for host, _ in _places(master):
        theirs = _version_on_page(host, master)
        if ours and theirs and _release(theirs) != _release(ours):
            found = f"Spark {theirs} at {master}, Spark {ours} here"
            return [RULES["spark-master-version"].at("--master", found)]
    return []


def _release(version: str) -> list[str]:
    """Releases of one minor version speak with each other."""
    return version.split(".")[:2]


def _version_on_page(host: str, master: str) -> str:
    port = os.environ.get("SPARK_MASTER_WEBUI_PORT") or _PAGE_PORT
    name = f"[{host}]" if ":" in host else host
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{name}:{port}/", timeout=_PAGE_SECONDS) as answer:
            page = answer.read(_PAGE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
    if not any(f"spark://{one}" in page for one in master.removeprefix("spark://").split(",")):
        return ""  # another program's, or another master's
    found = _VERSION.search(page)
    return found[1] if found else ""

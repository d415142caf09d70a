"""A request that starts our agent on every host: what the agent makes of its variables."""

from __future__ import annotations

from launchers.core.model.document import at, rank_count
from launchers.core.planning.plan import counted
from launchers.core.strategies import VARIABLE, named
from launchers.sagemaker.document import PROCESSES
from launchers.sagemaker.starts.groups import Group, groups_of, hosts_of
from launchers.sagemaker.starts.start import Start, spread_text

WAY = "agent"
_TITLE = "launch's agent"


def start(document: object) -> Start:
    """So many ranks on each host as the request's own variable says; a strategy with one process a
    host has a replica on each of its GPUs."""
    groups = groups_of(document)
    each = processes_of(document)
    if not each or hosts_of(groups) is None:
        return Start(WAY, None, f"{_TITLE}, and {PROCESSES} or the hosts are not said")
    try:
        strategy = named(str(at(document, "Environment", VARIABLE) or ""))
    except ModuleNotFoundError:
        return Start(WAY, None, f"{_TITLE}, with a {VARIABLE} that it does not know")
    if not strategy.one_a_host:
        placed = tuple((group, each) for group in groups)
        ranks = sum((group.hosts or 0) * each for group in groups)
        return Start(WAY, ranks, f"{_TITLE} over {spread_text(placed)}", placed)
    placed = tuple((group, each * max(group.gpus or 0, 1)) for group in groups)
    replicas = sum((group.hosts or 0) * count for group, count in placed)
    because = f"{_TITLE} over {_replicas_text(groups, each)}"
    return Start(WAY, replicas, because, placed)


def processes_of(document: object) -> int:
    """Processes on each host, 0 where the request does not say."""
    return rank_count(at(document, "Environment", PROCESSES)) or 0


def _replicas_text(groups: list[Group], each: int) -> str:
    replicas = [counted(each * max(group.gpus or 0, 1), "replica") for group in groups]
    hosts = [counted(group.hosts or 0, "host") for group in groups]
    return " + ".join(f"{one} x {other}" for one, other in zip(hosts, replicas, strict=True))

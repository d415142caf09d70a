"""torchrun: ``--nproc-per-node`` ranks on each of ``--nnodes`` hosts.

Source: torch/distributed/run.py and elastic/rendezvous of PyTorch 2.9. Without --nnodes there is
one host, without --nproc-per-node one rank; every option has its default from PET_<NAME>. With
several hosts and the static rendezvous each copy needs --master-addr (127.0.0.1 where it is not
said) and its own --node-rank (0), and gives up after 600 seconds; c10d needs --rdzv-endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping

from launchers.core.analysis.plain_start.model import (
    Options,
    Start,
    gpus_seen,
    is_local,
    not_expanded,
    number,
    options,
)
from launchers.core.analysis.plain_start.shell import SUBSTITUTED, Command

_SWITCHES = ("--standalone", "-m", "--module", "--no-python", "--run-path", "--use-env")
_STATIC = "static"


def read(name: str, command: Command, behind: int, gpus: int) -> Start:
    """What torchrun starts.

    Args:
        name: How it was called.
        behind: Where its options begin in the command's words.
        gpus: GPUs of the host.
    """
    given = options(command.words[behind:], _SWITCHES)
    own = command.words[behind : len(command.words) - len(given.rest)]
    literal = not_expanded(own, command.expanded)
    if literal:
        waits = f"{literal[:40]}: no shell puts the variable's value there"
        return Start("torchrun", name, waits=waits)
    if given.unread:
        shown = given.unread[:40].replace(SUBSTITUTED, "$(...)")
        unknown = f"{name} {shown}: its options are known only when it runs"
        return Start("torchrun", name, unknown=unknown)
    return world(name, given, command.variables, gpus_seen(gpus, command.variables))


def world(name: str, given: Options, variables: Mapping[str, str], gpus: int) -> Start:
    """What torchrun starts with options that are known."""

    def said(option: str) -> str | None:
        value = given.first(f"--{option}")
        return variables.get("PET_" + option.upper().replace("-", "_")) if value is None else value

    nodes = said("nnodes")
    processes = said("nproc-per-node") or "1"
    hosts = _hosts(nodes or "1")
    if hosts is None:
        unknown = f"{name} --nnodes={str(nodes)[:40]}: how many hosts is known only when it runs"
        return Start("torchrun", name, unknown=unknown)
    asked = (("--nnodes", nodes), ("--nproc_per_node", said("nproc-per-node")))
    text = " ".join([name, *(f"{option}={value[:40]}" for option, value in asked if value)])
    text = text.replace(SUBSTITUTED, "$(...)")
    each, unknown = _processes(processes, gpus, text)
    if hosts == (1, 1):
        return Start("torchrun", text, each, each, hosts, unknown=unknown)
    backend, endpoint = said("rdzv-backend") or _STATIC, said("rdzv-endpoint") or ""
    if "--standalone" in given.values:
        return Start("torchrun", text, waits=f"{text} --standalone: it waits for itself alone")
    if backend != _STATIC:
        if not endpoint or is_local(endpoint):
            return Start("torchrun", text, waits=f"{text} {_ALONE.format('--rdzv_endpoint')}")
        return Start("torchrun", text, each, None, hosts, finds=True, unknown=unknown)
    address = endpoint or said("master-addr") or ""
    if not address or is_local(address):
        return Start("torchrun", text, waits=f"{text} {_ALONE.format('--master_addr')}")
    rank = said("node-rank") or "0"
    # The static rendezvous waits for as many hosts as there may be at most.
    most = (hosts[1], hosts[1])
    return Start("torchrun", text, each, None, most, True, number(rank), unknown=unknown)


_ALONE = "without {} of another host: each copy waits for itself alone, and gives up"


def _hosts(text: str) -> tuple[int, int] | None:
    least, colon, most = text.partition(":")
    first, last = number(least), number(most) if colon else number(least)
    return (first, last) if first and last and first <= last else None


def _processes(text: str, gpus: int, shown: str) -> tuple[int | None, str]:
    """Ranks of each host, and why they cannot be told."""
    count = number(text)
    if count:
        return count, ""
    if text in ("gpu", "auto") and gpus:
        return gpus, ""
    if text.isdecimal():
        return None, f"{shown}: no number of ranks that a host can have"
    return None, f"{shown}: how many ranks a host is known only when it runs"

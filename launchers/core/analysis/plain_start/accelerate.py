"""``accelerate launch``: ``--num_processes`` ranks in all, on ``--num_machines`` hosts.

Source: accelerate/commands/launch.py of Accelerate 1.x. What is not said comes from a configuration
file of the image, so only what is said here counts. Several ranks on one host need --multi_gpu, or
more than one GPU; else one process runs.
"""

from __future__ import annotations

from launchers.core.analysis.plain_start import torchrun
from launchers.core.analysis.plain_start.model import (
    Options,
    Start,
    gpus_seen,
    not_expanded,
    number,
    options,
)
from launchers.core.analysis.plain_start.shell import Command

_SWITCHES = {
    *("--cpu", "--multi-gpu", "--tpu", "--use-deepspeed", "--use-fsdp", "--use-megatron-lm"),
    *("--same-network", "-m", "--module", "--no-python", "--debug", "--quiet", "-q", "--use-xpu"),
    *("--dynamo-use-fullgraph", "--dynamo-use-dynamic", "--tpu-use-cluster", "--tpu-use-sudo"),
    *("--fp8", "--no-tpu-cluster"),
}
_ELSEWHERE = ("--config-file", "--use-deepspeed", "--tpu", "--cpu")


def read(command: Command, behind: int, gpus: int) -> Start:
    """What ``accelerate launch`` starts; its options begin at ``behind``."""
    given = options(command.words[behind:], _SWITCHES)
    own = command.words[behind : len(command.words) - len(given.rest)]
    gpus = gpus_seen(gpus, command.variables)
    name = "accelerate launch"
    literal = not_expanded(own, command.expanded)
    if literal:
        waits = f"{literal[:40]}: no shell puts the variable's value there"
        return Start("accelerate", name, waits=waits)
    total, machines = given.first("--num-processes"), given.first("--num-machines")
    ranks, hosts = number(total), number(machines or "1")
    several = any(option in given.values for option in ("--multi-gpu", "--use-fsdp"))
    text = f"{name} --num_processes {total}" if total else name
    text += f" --num_machines {machines}" if machines else ""
    for option in _ELSEWHERE:
        if option in given.values:
            return Start("accelerate", text, unknown=f"{name} {option.replace('-', '_', 3)}")
    if given.unread or not ranks or not hosts or (ranks > 1 and not several and gpus < 2):
        unknown = f"{text}: the rest is in its configuration, or known only when it runs"
        return Start("accelerate", text, unknown=unknown)
    if hosts == 1 and not {"--machine-rank", "--main-process-ip"} & set(given.values):
        return Start("accelerate", text, ranks, ranks, (1, 1))
    values = {"--nnodes": str(hosts), "--nproc-per-node": str(ranks // hosts)}
    for theirs, torchs in (("--machine-rank", "--node-rank"), ("--main-process-ip", _ADDRESS)):
        if theirs in given.values:
            values[torchs] = given.values[theirs]
    if hosts == 1 or ranks < hosts or _ADDRESS not in values:
        unknown = f"{text}: the other machines are in its configuration"
        return Start("accelerate", text, unknown=unknown)
    start = torchrun.world(name, Options(values, "", ()), {}, gpus)
    return Start(
        "accelerate", text, start.each, None, start.hosts, start.finds, start.node, start.waits
    )


_ADDRESS = "--master-addr"

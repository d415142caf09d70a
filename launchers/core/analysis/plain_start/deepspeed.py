"""``deepspeed``: a rank for each GPU of its own host, unless a host file names others.

Source: deepspeed/launcher/runner.py (read 2026-11-22): without a host file (it looks for
/job/hostfile, taken for absent here) and without --include, it starts --num_gpus ranks, or one a
GPU, on its own host.
"""

from __future__ import annotations

from launchers.core.analysis.plain_start.model import (
    Start,
    gpus_seen,
    not_expanded,
    number,
    options,
)
from launchers.core.analysis.plain_start.shell import Command

_SWITCHES = {
    *("--module", "--no-python", "--no-local-rank", "--force-multi", "--elastic-training"),
    *("--no-ssh", "--no-ssh-check", "--save-pid", "--bind-cores-to-rank"),
}
_OTHERS = ("--hostfile", "-H", "--num-nodes", "--include", "-i", "--exclude", "-e", "--no-ssh")


def read(command: Command, behind: int, gpus: int) -> Start:
    """What ``deepspeed`` starts; its options begin at ``behind``."""
    given = options(command.words[behind:], _SWITCHES)
    own = command.words[behind : len(command.words) - len(given.rest)]
    literal = not_expanded(own, command.expanded)
    if literal:
        waits = f"{literal[:40]}: no shell puts the variable's value there"
        return Start("deepspeed", "deepspeed", waits=waits)
    if given.unread or any(option in given.values for option in _OTHERS):
        unknown = "deepspeed: which hosts and GPUs it takes is known only when it runs"
        return Start("deepspeed", "deepspeed", unknown=unknown)
    said = given.first("--num-gpus", "--num-accelerators")
    text = f"deepspeed --num_gpus {said}" if said else "deepspeed"
    each = number(said) if said else gpus_seen(gpus, command.variables) or None
    unknown = "" if each else f"{text}: how many ranks is known only when it runs"
    return Start("deepspeed", text, each, each, (1, 1), unknown=unknown)

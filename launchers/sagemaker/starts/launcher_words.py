"""How many processes the words of a command start, where a launcher of ranks is among the first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TORCHRUN_MODULES = ("torch.distributed.run", "torch.distributed.launch")
_MPI = ("mpirun", "mpiexec", "orterun", "horovodrun")
_OTHER_HOSTS = re.compile(
    r"-{1,2}(H|hosts?|hostfile|machinefile|default-hostfile|host-discovery.*)"
)


@dataclass(frozen=True)
class Launched:
    """What a command starts on each host where it runs.

    Attributes:
        hosts: Of its one job; 1 where it knows of no other, None where its words do not say.
        processes: On each of them; None where its words do not say.
        text: Its beginning, for a message.
    """

    hosts: int | None
    processes: int | None
    text: str


def read_words(words: Sequence[str], gpus: int | None) -> Launched | None:
    """What ``words`` start; None where they name no launcher of ranks, nor plain Python.

    Args:
        gpus: Of the machine, which ``--nproc_per_node=gpu`` means.
    """
    program = words[0].rpartition("/")[2] if words else ""
    text = " ".join(words)[:60]
    if re.fullmatch(r"python[\d.]*", program):
        if len(words) > 2 and words[1] == "-m" and words[2] in _TORCHRUN_MODULES:
            return _torchrun(words[3:], gpus, text)
        return Launched(1, 1, text)
    if program == "torchrun":
        return _torchrun(words[1:], gpus, text)
    if program in _MPI:
        others = any(_OTHER_HOSTS.fullmatch(word.partition("=")[0]) for word in words)
        count = _value(words, ("np", "n", "num-proc"))
        return Launched(None if others else 1, _number(count), text)
    return None


def _torchrun(words: Sequence[str], gpus: int | None, text: str) -> Launched:
    nodes = _value(words, ("nnodes",)) or "1"
    each = _value(words, ("nproc-per-node",)) or "1"
    processes = gpus if each in ("gpu", "auto") else _number(each)
    return Launched(_number(nodes), processes, text)


def _value(words: Sequence[str], names: Sequence[str]) -> str | None:
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not name.startswith("-") or name.lstrip("-").replace("_", "-") not in names:
            continue
        if equals:
            return value
        return words[index + 1] if index + 1 < len(words) else ""
    return None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and int(text) > 0 else None

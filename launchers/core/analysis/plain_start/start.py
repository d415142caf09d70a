"""What one copy of a plain command line starts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from launchers.core.analysis.plain_start import accelerate, deepspeed, mpi, torchrun
from launchers.core.analysis.plain_start.model import Start
from launchers.core.analysis.plain_start.shell import (
    Command,
    CommandLine,
    base,
    command_line,
    is_python,
)

__all__ = ["Start", "launched_words", "read_start"]

_HOROVODRUN_MODULES = ("horovod.runner", "horovod.runner.launch", "horovod.run")
_TORCHRUN_MODULES = ("torch.distributed.run", "torch.distributed.launch")
_ACCELERATE_MODULES = ("accelerate.commands.launch",)
_DEEPSPEED_MODULES = ("deepspeed.launcher.runner",)
# Programs of a replica that only waits for another one's launcher to reach it.
_IDLE = ("sshd", "sleep")
# Commands of a script that are known to start no ranks.
_HARMLESS = {
    *("cd", "pip", "pip3", "apt", "apt-get", "mkdir", "echo", "cp", "mv", "rm", "ls", "cat", "set"),
    *("gsutil", "gcloud", "aws", "tar", "unzip", "wget", "curl", "git", "chmod", "nvidia-smi"),
    *("ulimit", "printenv", "env", "touch", "true", "false", "exit", "service", "tee", "wait"),
    *("tail", "kill", "unset", "pushd", "popd", "ln", "whoami", "hostname", "date", "test", "["),
    *("export", "printf", "umask", "ssh-keygen", "trap", "source", ".", "conda", "mamba", ":"),
}


@dataclass(frozen=True)
class _Read:
    """A command with what it starts; None for one that starts no ranks."""

    command: Command
    start: Start | None


def read_start(
    words: Sequence[str], gpus: int = 0, variables: Mapping[str, str] | None = None
) -> Start:
    """What ``words`` (entry point, command and arguments of a container) start on one host. Pure.

    Args:
        gpus: GPUs of the host, where a launcher starts a rank for each.
        variables: The environment, as far as it is known and the same on all hosts.

    Example:
        >>> read_start(["bash", "-c", "cd x && torchrun --nproc_per_node=gpu t.py"], gpus=4).each
        4
    """
    line = command_line(words, variables)
    if line.unread:
        return Start(unknown=line.unread)
    read = [_Read(command, _start_of(command, gpus)) for command in line.commands]
    starts = [one for one in read if one.start is not None]
    if not starts:
        first, *_ = read
        program = base(first.command.words[0])
        if len(read) > 1 or program in _HARMLESS:
            return Start(unknown="a script that starts no Python and no launcher that is known")
        return Start(unknown=f"{program[:40]} may start anything")
    chosen = _chosen(starts)
    if chosen is None:
        return Start(unknown="a script that starts several things, one after another or at once")
    assert chosen.start is not None
    if not chosen.start.launcher:
        return chosen.start
    dropped = dropped_exit_code(line, read.index(chosen))
    return replace(chosen.start, dropped=dropped) if dropped else chosen.start


def launched_words(words: Sequence[str]) -> list[str]:
    """``python train.py --epochs 3`` of what a container runs, behind shells and launchers of
    Horovod and MPI; empty where no Python program is named.

    Example:
        >>> launched_words(["horovodrun", "-np", "4", "python", "train.py"])
        ['python', 'train.py']
    """
    found = [_python_words(command.words) for command in command_line(words).commands]
    launched = [inner for inner in found if inner]
    return launched[-1] if launched else []


def _python_words(words: Sequence[str]) -> list[str]:
    for index, word in enumerate(words):
        if is_python(word):
            rest = list(words[index:])
            if len(rest) > 2 and rest[1] == "-m" and rest[2] in _HOROVODRUN_MODULES:
                return _python_words(["horovodrun", *rest[3:]])
            return rest
        if index == 0 and base(word) not in mpi.LAUNCHERS:
            return []
    return []


def _chosen(starts: Sequence[_Read]) -> _Read | None:
    """The start that counts: the only launcher, else the last plain Python program. None where
    several launchers differ, or programs run beside each other."""
    launchers = [one for one in starts if one.start and one.start.launcher]
    if launchers:
        first = launchers[0]
        alike = all(_size(one) == _size(first) for one in launchers)
        return first if alike else None
    working = [one for one in starts if one.start and not one.start.idle]
    if not working:
        return starts[-1]
    if len(working) > 1 and any(one.command.after == "&" for one in working):
        return None
    unknown = [one for one in working if one.start and one.start.unknown]
    return (unknown or working)[-1]


def _size(one: _Read) -> tuple[object, ...]:
    start = one.start
    assert start is not None
    return (start.each, start.ranks, start.hosts, start.finds, start.unknown, start.waits)


def _start_of(command: Command, gpus: int) -> Start | None:
    """What one simple command starts; None where it is known to start no ranks."""
    words = command.words
    program = base(words[0])
    if program in _IDLE:
        return Start(text=program, idle=True)
    if program in mpi.LAUNCHERS:
        return mpi.read(program, command)
    if program == "torchrun":
        return torchrun.read("torchrun", command, 1, gpus)
    if program == "accelerate":
        return accelerate.read(command, 2, gpus) if words[1:2] == ("launch",) else None
    if program == "deepspeed":
        return deepspeed.read(command, 1, gpus)
    if is_python(words[0]):
        return _python(command, gpus)
    if program in _HARMLESS:
        return None
    return Start(unknown=f"{program[:40]} may start anything")


def _python(command: Command, gpus: int) -> Start | None:
    words = command.words
    at = words.index("-m") if "-m" in words[:-1] else 0
    # Behind a script it is the script's own.
    module = words[at + 1] if at and not any(word.endswith(".py") for word in words[:at]) else ""
    if module in ("pip", "venv", "ensurepip"):
        return None
    if module in _HOROVODRUN_MODULES:
        return mpi.read("horovodrun", replace(command, words=words[at + 1 :]))
    if module in _TORCHRUN_MODULES:
        return torchrun.read(f"python -m {module}", command, at + 2, gpus)
    if module in _ACCELERATE_MODULES:
        return accelerate.read(command, at + 2, gpus)
    if module in _DEEPSPEED_MODULES:
        return deepspeed.read(command, at + 2, gpus)
    shown = ["-m", module] if module else [word for word in words[1:2] if word[:1] != "-"]
    return Start(text=" ".join([base(words[0]), *shown])[:60], each=1)


def dropped_exit_code(line: CommandLine, index: int) -> str:
    """Why the end of a shell's script says nothing of how its command ``index`` ended; empty where
    the container passes the exit code on."""
    if not line.text:
        return ""
    text, rest = line.text, line.commands[index + 1 :]
    after = line.commands[index].after
    ends_at_failure = re.search(r"(?:^|[\s;])set\s+-\w*e|set\s+-o\s+errexit|\s-e\s", text)
    asked = {word for command in rest for word in command.words}
    if any("$?" in word for word in asked) or "wait" in asked:
        return ""  # The script keeps it.
    if after == "&":
        return "it runs in the background, and its exit code is not asked for"
    if after == "||" and rest:
        return f"|| {' '.join(rest[0].words)[:20]} takes the place of its exit code"
    if after in ("|", "|&") and "pipefail" not in text:
        return "the exit code of a pipe is that of its last command, without set -o pipefail"
    if after in (";", "\n") and rest and not ends_at_failure:
        return "another command follows it, whose exit code is the container's, without set -e"
    return ""

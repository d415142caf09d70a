"""What a command that is not ours starts: how many ranks, and who hears of its exit code.

Only what stands in the document can be read. An image's own entry point and a script that lies in
it may start anything; of these nothing is said.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

_LAUNCHERS = ("horovodrun", "mpirun", "mpiexec", "orterun")
_SHELLS = ("sh", "bash", "dash", "zsh", "ash")
# They start processes of their own, in ways that this module does not read.
_OTHER_MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")
_HOROVODRUN_MODULES = ("horovod.runner", "horovod.runner.launch", "horovod.run")
# Word before a program that it then becomes.
_BEFORE = ("exec", "env", "nohup", "time", "sudo", "nice", "stdbuf")
_RANKS = {"horovodrun": ("-np", "--num-proc"), "mpirun": ("-np", "-n", "--np", "--n", "-c")}
_HOSTS = {
    "horovodrun": ("-H", "--hosts", "-hostfile", "--hostfile", "--host-discovery-script"),
    "mpirun": ("-H", "-host", "--host", "-hostfile", "--hostfile", "-machinefile", "--machinefile"),
}


@dataclass(frozen=True)
class Start:
    """What one replica's command starts.

    Attributes:
        launcher: ``horovodrun``, ``mpirun`` or its like; empty for a plain Python program.
        ranks: Ranks of the job that it starts; None where its words do not say.
        names_hosts: Whether it is told of other hosts, which it reaches by ssh.
        dropped: Why nobody hears of its exit code; empty where the container passes it on.
        text: The launcher's beginning as it stands, for a message: ``horovodrun -np 4``.
    """

    launcher: str = ""
    ranks: int | None = 1
    names_hosts: bool = False
    dropped: str = ""
    text: str = ""


def read_start(words: Sequence[str]) -> Start | None:
    """What ``words`` (command and args of a container) start; None where they do not say.

    Example:
        >>> read_start(["horovodrun", "-np", "4", "python", "train.py"]).ranks
        4
    """
    words = _behind_wrappers(list(words))
    if not words:
        return None
    program = _base(words[0])
    if program in _SHELLS:
        script = _script_of(words)
        return _in_script(script) if script is not None else None
    return _in_words(words)


def python_words(words: Sequence[str]) -> list[str]:
    """``python train.py --epochs 3`` of what a container runs, behind shells and launchers; empty
    where no Python program is named.

    Example:
        >>> python_words(["horovodrun", "-np", "4", "python", "train.py"])
        ['python', 'train.py']
    """
    words = _behind_wrappers(list(words))
    if words and _base(words[0]) in _SHELLS:
        script = _script_of(words)
        found = [python_words(inner) for inner, _ in _commands(script or "")]
        launched = [inner for inner in found if inner]
        return launched[-1] if launched else []
    for index, word in enumerate(words):
        if re.fullmatch(r"python[\d.]*", _base(word)):
            rest = list(words[index:])
            if len(rest) > 2 and rest[1] == "-m" and rest[2] in _HOROVODRUN_MODULES:
                return python_words(rest[3:])
            return rest
        if index == 0 and _base(word) not in _LAUNCHERS:
            return []
    return []


def behind_shell(words: Sequence[str]) -> list[str]:
    """The words behind ``bash -c SCRIPT``, the first of them the script's ``$0``; empty for
    anything else."""
    words = _behind_wrappers(list(words))
    if not words or _base(words[0]) not in _SHELLS:
        return []
    at = next((i for i, word in enumerate(words) if re.fullmatch(r"-\w*c", word)), len(words))
    return list(words[at + 2 :])


def _in_script(text: str) -> Start | None:
    """The first launcher of a shell's script, else what its single command starts."""
    commands = _commands(text)
    for index, (words, after) in enumerate(commands):
        start = _in_words(_behind_wrappers(words))
        if start is not None and start.launcher:
            rest = commands[index + 1 :]
            return Start(
                start.launcher,
                start.ranks,
                start.names_hosts,
                _dropped(text, after, rest),
                start.text,
            )
    starts = [_in_words(_behind_wrappers(words)) for words, _ in commands]
    plain = [start for start in starts if start is not None]
    return plain[-1] if plain else None


def _in_words(words: Sequence[str]) -> Start | None:
    if not words:
        return None
    program = _base(words[0])
    if program in _LAUNCHERS:
        return _launcher(program, words)
    if not re.fullmatch(r"python[\d.]*", program):
        return None
    module = next((words[i + 1] for i in range(1, len(words) - 1) if words[i] == "-m"), "")
    if module in _HOROVODRUN_MODULES:
        return _launcher("horovodrun", words[words.index("-m") + 1 :])
    if module in _OTHER_MODULES:
        return None
    script = [word for word in words[1:2] if not word.startswith("-")]
    return Start(text=" ".join([program, *script])[:60])


def _launcher(program: str, words: Sequence[str]) -> Start:
    family = "horovodrun" if program == "horovodrun" else "mpirun"
    ranks = None
    hosts = False
    for index, word in enumerate(words[1:], start=1):
        name, _, value = word.partition("=")
        if name in _HOSTS[family]:
            hosts = True
        if name in _RANKS[family] and ranks is None:
            text = value or (words[index + 1] if index + 1 < len(words) else "")
            ranks = int(text) if text.isdecimal() else None
        if re.fullmatch(r"python[\d.]*", _base(word)):
            break  # What follows is the script's own.
    shown = f"{program} -np {ranks}" if ranks is not None else program
    return Start(program, ranks, hosts, "", shown)


def _dropped(text: str, after: str, rest: Sequence[tuple[list[str], str]]) -> str:
    """Why the script's end says nothing of the launcher's.

    Args:
        after: What stands between the launcher's command and the next: ``;``, ``||`` ...
        rest: The commands behind it.
    """
    ends_at_failure = re.search(r"(?:^|[\s;])set\s+-\w*e|set\s+-o\s+errexit|\s-e\s", text)
    pipes_fail = "pipefail" in text
    asked = {word for words, _ in rest for word in words}
    if any("$?" in word for word in asked) or "wait" in asked:
        return ""  # The script keeps it.
    if after == "&":
        return "it runs in the background, and its exit code is not asked for"
    if after == "||" and rest:
        return f"|| {' '.join(rest[0][0])[:20]} takes the place of its exit code"
    if after in ("|", "|&") and not pipes_fail:
        return "the exit code of a pipe is that of its last command, without set -o pipefail"
    if after in (";", "\n") and rest and not ends_at_failure:
        return "another command follows it, whose exit code is the container's, without set -e"
    return ""


def _commands(text: str) -> list[tuple[list[str], str]]:
    """The simple commands of a script, each with the separator behind it."""
    for pattern, instead in _NOT_COMMANDS:
        text = re.sub(pattern, instead, text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    commands: list[tuple[list[str], str]] = []
    words: list[str] = []
    try:
        tokens = list(lexer)
    except ValueError:
        return []  # Quotes that do not close: a shell refuses it as well.
    for token in tokens:
        if token.strip(";|&\n"):
            words.append(token)
        elif words:
            commands.append((words, token.strip("\n") or "\n"))
            words = []
    return [*commands, (words, "")] if words else commands


# Continued lines, comments, and an & that belongs to a redirection.
_NOT_COMMANDS = ((r"\\\n", " "), (r"(^|\s)#[^\n]*", r"\1"), (r"\d*[<>]&[\d-]|&>>?", " > "))


def _script_of(words: Sequence[str]) -> str | None:
    """The text behind ``-c``; None for a script that lies in the image."""
    for index, word in enumerate(words[1:], start=1):
        if re.fullmatch(r"-\w*c", word):
            script = words[index + 1] if index + 1 < len(words) else ""
            # bash -ec 'a; b' ends at the first failure, as with set -e.
            return f"set -e\n{script}" if "e" in word else script
        if not word.startswith("-"):
            return None
    return None


def _behind_wrappers(words: list[str]) -> list[str]:
    """``env A=1 exec horovodrun ...`` without what stands before the program."""
    while words and (
        _base(words[0]) in _BEFORE or re.fullmatch(r"[A-Za-z_]\w*=.*", words[0], re.DOTALL)
    ):
        words = words[1:]
    return words


def _base(word: str) -> str:
    return word.rpartition("/")[2]

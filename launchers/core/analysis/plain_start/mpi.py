"""horovodrun and mpirun: ``-np`` ranks, on the hosts that they are told of, else on their own.

Sources: horovodrun --help of Horovod 0.28 (-np, -H, --hostfile, --host-discovery-script);
Open MPI's mpirun(1) and MPICH's mpiexec -help. Which of several counts and host lists is taken was
tried with Horovod 0.28.1 and Open MPI 4.1.4.
"""

from __future__ import annotations

from launchers.core.analysis.plain_start.model import Start, is_local, not_expanded, number
from launchers.core.analysis.plain_start.shell import SUBSTITUTED, Command, is_python

LAUNCHERS = ("horovodrun", "mpirun", "mpiexec", "orterun")
_RANKS = {"horovodrun": ("-np", "--num-proc"), "mpirun": ("-np", "-n", "--np", "--n", "-c")}
_HOSTS = {"horovodrun": ("-H", "--hosts"), "mpirun": ("-H", "-host", "--host", "-hosts")}
_FILES = {
    "horovodrun": ("-hostfile", "--hostfile"),
    "mpirun": ("-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f"),
}
_ELASTIC = "--host-discovery-script"


def read(program: str, command: Command) -> Start:
    """What horovodrun or mpirun (the first of ``command``'s words) starts."""
    family = "horovodrun" if program == "horovodrun" else "mpirun"
    hosts: list[str] = []
    count, in_file, own = "", False, []
    words = command.words
    for index, word in enumerate(words[1:], start=1):
        if is_python(word):
            break  # What follows is the script's own.
        own.append(word)
        name, equals, value = word.partition("=")
        value = value if equals else "".join(words[index + 1 : index + 2])
        if name in _RANKS[family]:
            # The last of several counts; behind a colon it is another program's.
            count = count if ":" in own else value
        elif name in _HOSTS[family]:
            # mpirun adds them up, horovodrun takes the last.
            hosts = (hosts if family == "mpirun" else []) + value.split(",")
        elif name in _FILES[family]:
            in_file = True
        elif name == _ELASTIC:
            return Start(family, f"{program} {_ELASTIC}", unknown=f"{program} with {_ELASTIC}")
    literal = not_expanded(own, command.expanded)
    if literal:
        return Start(family, program, waits=f"{literal[:40]}: no shell puts the variable's value")
    ranks = number(count) or None
    shown = f"{program} -np {count}".replace(SUBSTITUTED, "$(...)") if count else program
    unknown = "" if ranks else f"{shown[:60]}: how many ranks is known only when it runs"
    if ":" in words:  # Several programs, each with a count of its own.
        ranks, unknown = None, f"{program} with several programs"
    elsewhere = [host for host in hosts if not is_local(host)]
    if any(word.startswith("$") for word in own) and not count:
        return Start(family, shown, unknown=unknown)
    if elsewhere or in_file:
        return Start(family, shown, ranks=ranks, finds=True, unknown=unknown)
    return Start(family, shown, each=ranks, ranks=ranks, hosts=(1, 1), unknown=unknown)

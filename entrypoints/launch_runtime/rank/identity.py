"""Which rank this is: what the job definition promises, and what this process was really given."""

from __future__ import annotations

import json
import socket
from typing import Mapping, NamedTuple

from launch_runtime import environment as env
from launch_runtime import horovod_names, lines
from launch_runtime.rank.refusal import RefusalError

AGENT, MPIRUN, HOROVODRUN, NOBODY = "launch's agent", "mpirun", "horovodrun", "nobody"

# What a launcher sets for each rank, and what is the same for all ranks of a host.
PLACE_VARIABLES = (*horovod_names.PLACE, *horovod_names.RENDEZVOUS, *horovod_names.MPI)
WATCHED_VARIABLES = (*PLACE_VARIABLES, "HOROVOD_HOSTNAME", "HOROVOD_CONTROLLER")
# What launch's agent says of the seat, to a guard of any strategy: size, rank, local size, local
# rank. The guard takes it out.
SEAT = "LAUNCH_SEAT"
# Set where the cluster that starts the ranks spreads them over machines in its own way, which is
# said and not compared: two of Spark's executors on one machine are one host to Horovod.
SPREAD, REPORTED = "LAUNCH_SPREAD", "reported"
_SAGEMAKER_HOST_FILE = "/opt/ml/input/config/resourceconfig.json"


class Promise(NamedTuple):
    """What the job definition says. ``hosts`` and ``processes`` are 0 where it does not; where
    ``size`` is more than these make, it counts replicas, of which a process has several."""

    size: int
    hosts: int
    processes: int

    @property
    def ranks(self) -> int:
        """Processes of the job; several replicas may share one."""
        return self.hosts * self.processes or self.size

    def __str__(self) -> str:
        text = f"world size {self.size}"
        if not self.hosts or not self.processes:
            return text
        noun = "replica" if self.size > self.ranks else "rank"
        each = lines.count(self.size // self.hosts, noun)
        return "{} ({} x {})".format(text, lines.count(self.hosts, "host"), each)


class Place(NamedTuple):
    """What this rank was given.

    Attributes:
        size: The world size.
        rank: From 0 to ``size`` - 1.
        local_size: Ranks on this host.
        local_rank: From 0 to ``local_size`` - 1.
        host: This host's name in messages.
        by: Who started the rank.
    """

    size: int
    rank: int
    local_size: int
    local_rank: int
    host: str
    by: str


def promised(environment: Mapping[str, str], replicated: bool = False) -> Promise:
    """LAUNCH_WORLD_SIZE, LAUNCH_INSTANCES and LAUNCH_PROCESSES.

    Args:
        environment: Of the guard.
        replicated: Whether LAUNCH_WORLD_SIZE counts replicas, the same number in each process.

    Raises:
        RefusalError: The size is missing, or the three contradict each other.
        environment.SettingError: One is no number.
    """
    if not environment.get("LAUNCH_WORLD_SIZE"):
        cause = "whoever started this process did not hand the job's environment on"
        if environment.get("OMPI_COMM_WORLD_SIZE"):
            cause = "mpirun gives ranks on other hosts only the variables that -x names"
        raise RefusalError("LAUNCH_WORLD_SIZE in the environment", "none", cause)
    promise = Promise(
        env.number(environment, "LAUNCH_WORLD_SIZE"),
        env.number(environment, "LAUNCH_INSTANCES", default=0),
        env.number(environment, "LAUNCH_PROCESSES", default=0),
    )
    is_multiple = replicated and promise.size % promise.ranks == 0
    if promise.ranks != promise.size and not is_multiple:
        raise RefusalError(
            "LAUNCH_WORLD_SIZE = LAUNCH_INSTANCES x LAUNCH_PROCESSES",
            "{} and {} x {}".format(*promise),
            "the job definition contradicts itself",
        )
    return promise


def given(environment: Mapping[str, str], has_agent: bool) -> Place:
    """This rank's place as whoever started it says.

    Raises:
        environment.SettingError: A variable is no number.
    """
    if has_agent:
        return _place(environment, "HOROVOD_{}", environment.get("LAUNCH_HOST", ""), AGENT)
    if environment.get("OMPI_COMM_WORLD_SIZE"):
        return _place(environment, "OMPI_COMM_WORLD_{}", _host_name(), MPIRUN)
    if environment.get("HOROVOD_SIZE"):
        host = environment.get("HOROVOD_HOSTNAME") or _host_name()
        return _place(environment, "HOROVOD_{}", host, HOROVODRUN)
    return nobody()


def from_agent(environment: Mapping[str, str]) -> Place:
    """This rank's place as launch's agent says it to a guard of any strategy.

    Raises:
        environment.SettingError: It does not.
    """
    numbers = environment.get(SEAT, "").split()
    if len(numbers) != 4 or not all(number.isdigit() for number in numbers):
        raise env.SettingError(f"{SEAT}: found {' '.join(numbers)!r}; expected four numbers")
    size, rank, local_size, local_rank = map(int, numbers)
    return Place(size, rank, local_size, local_rank, environment.get("LAUNCH_HOST", ""), AGENT)


def nobody() -> Place:
    """That of a process which nobody started as a rank."""
    return Place(1, 0, 1, 0, _host_name(), NOBODY)


def check(promise: Promise, place: Place, environment: Mapping[str, str]) -> None:
    """Compares the two.

    Raises:
        RefusalError: They differ.
    """
    if place.size != promise.ranks:
        raise RefusalError(
            str(promise),
            f"world size {place.size} (given by {place.by})",
            *_why_another_size(promise, place, environment),
        )
    compared = promise.processes and environment.get(SPREAD) != REPORTED
    if compared and place.local_size != promise.processes:
        raise RefusalError(
            str(promise),
            "{} on host {} (given by {})".format(
                lines.count(place.local_size, "rank"), place.host, place.by
            ),
            "the ranks were not spread over the hosts as the job definition says",
            f"check the host list and the slots that {place.by} was given",
        )


def _why_another_size(
    promise: Promise, place: Place, environment: Mapping[str, str]
) -> tuple[str, str]:
    """Likely cause and fix."""
    if place.by == NOBODY:
        cause = "nothing started this process as a rank: it would run as one independent copy"
        if environment.get("SM_HOSTS"):
            return cause, "the hyperparameter sagemaker_mpi_enabled must be true"
        return cause, "start it with launch, mpirun or horovodrun"
    if promise.hosts and place.size == promise.processes:
        cause = "the number of ranks per host was passed as the number of all ranks"
        return cause, f"start {promise.size} ranks"
    if place.by == MPIRUN and environment.get("SM_HOSTS"):
        cause = "a hyperparameter overrides the number of ranks"
        return cause, "look for sagemaker_mpi_num_processes and for -np in the MPI options"
    return f"{place.by} started another number of ranks", ""


def _place(environment: Mapping[str, str], form: str, host: str, by: str) -> Place:
    def value(name: str, default: int) -> int:
        text = environment.get(form.format(name), "")
        if not text.isdigit():
            if text:
                raise env.SettingError(
                    f"{form.format(name)}: found {text!r}; expected a whole number"
                )
            return default
        return int(text)

    return Place(
        value("SIZE", 1), value("RANK", 0), value("LOCAL_SIZE", 1), value("LOCAL_RANK", 0), host, by
    )


def _host_name() -> str:
    """The service's own name for this host where it has one (SageMaker: algo-1)."""
    try:
        with open(_SAGEMAKER_HOST_FILE, encoding="utf-8") as file:
            return str(json.load(file)["current_host"])
    except (OSError, ValueError, KeyError):
        return socket.gethostname()

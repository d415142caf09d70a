"""What a master can do: run the driver, hold so many executors of that size, have GPUs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.core.planning.plan import counted
from launchers.core.rules.model_check import shown
from launchers.core.spark import keys
from launchers.core.spark.conf import Executors
from launchers.core.spark.master import Master, read_master
from launchers.spark.catalogue import RULES

# Where Spark 3.5 runs a Python driver in the cluster (SparkSubmit.prepareSubmitEnvironment).
_RUN_DRIVERS = ("yarn", "kubernetes")
_DEFAULT_MEMORY = 1024  # MiB; spark.executor.memory, "Configuration"
_MEMORY = re.compile(r"([0-9]{1,12})([kmgt]?)b?")
# A URL but of this machine: what spark-submit uploads has no scheme, or that of files
# (KubernetesUtils.isLocalDependency).
_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*:")
_MEBIBYTES = {"k": 2**-10, "": 1, "m": 1, "g": 2**10, "t": 2**20}


@dataclass(frozen=True)
class Words:
    """How a request names what it asks for: by flags, or by its document's places."""

    master: str = "--master"
    deploy_mode: str = "--deploy-mode"
    size: str = "--instances"
    gpus: str = "--gpus"


FLAGS = Words()


def problems_in_master(
    text: str,
    deploy_mode: str,
    executors: Executors,
    conf: Mapping[str, str] | None = None,
    words: Words = FLAGS,
) -> list[Problem]:
    """Why the master cannot start that job.

    Args:
        text: ``--master``.
        deploy_mode: ``client`` or ``cluster``.
        conf: The properties that say how much memory an executor has.
        words: What a message calls each of these.
    """
    master = read_master(text)
    if master is None:
        return [RULES["spark-master"].at(words.master, shown(text), fix=_meant(text))]
    problems = []
    if deploy_mode == "cluster" and master.kind not in _RUN_DRIVERS:
        found = f"cluster, with {words.master} {text}"
        problems.append(RULES["spark-deploy-mode"].at(words.deploy_mode, found))
    if master.kind == "local":
        problems += _in_one_process(master, executors, words)
    if master.kind == "local-cluster":
        problems += _in_workers(master, executors, conf or {}, words)
    return problems


def problems_in_upload(
    text: str,
    deploy_mode: str,
    conf: Mapping[str, str],
    files: Collection[str],
    where: str = f"--conf {keys.UPLOAD_PATH}",
) -> list[Problem]:
    """What a driver in a pod needs to get what it starts.

    Args:
        text: ``--master``.
        deploy_mode: ``client`` or ``cluster``.
        files: Paths or URLs of what spark-submit hands out.
        where: What a message calls the property.
    """
    master = read_master(text)
    if deploy_mode != "cluster" or master is None or master.kind != "kubernetes":
        return []
    own = [one for one in files if not _ELSEWHERE.match(one)]
    if not own or conf.get(keys.UPLOAD_PATH, "").strip():
        return []
    found = f"none, for {own[0]}" + (f" and {len(own) - 1} more" if own[1:] else "")
    return [RULES["spark-upload"].at(where, found)]


def _in_one_process(master: Master, executors: Executors, words: Words) -> Iterator[Problem]:
    size, cores = executors.world_size, executors.world_size * executors.task_cpus
    if executors.instances > 1:
        found = f"{executors.instances} executors with {words.master} {master.text}"
        fix = f"--instances 1 --processes {size}, or --master 'local-cluster[{executors.instances},"
        fix += f"{executors.cores},{_DEFAULT_MEMORY}]' for processes of their own"
        yield RULES["spark-local-executors"].at(words.size, found, fix=fix)
    if master.threads is None:
        fix = f"--master 'local[{cores}]' says it"
        yield RULES["spark-local-cores"].at(words.master, master.text, f"local[{cores}]", fix)
    elif master.threads < cores:
        found = (
            f"{master.text} for {counted(size, 'rank')} of {counted(executors.task_cpus, 'core')}"
        )
        fix = f"--master 'local[{cores}]'"
        yield RULES["spark-local-threads"].at(words.master, found, f"local[{cores}] or more", fix)
    if master.tries > 1:
        found = f"{master.text}: each task up to {master.tries} times"
        fix = f"--master 'local[{master.threads or '*'}]'"
        yield RULES["spark-retries"].at(words.master, found, "local[N]", fix)
    if executors.gpus:
        found = f"{executors.gpus} with {words.master} {master.text}"
        yield RULES["spark-local-gpus"].at(words.gpus, found)


def _in_workers(
    master: Master, executors: Executors, conf: Mapping[str, str], words: Words
) -> Iterator[Problem]:
    """A cluster of this machine's processes, of which it is known how large they are."""
    memory = _mebibytes(str(conf.get(keys.EXECUTOR_MEMORY, "")))
    fitting = min(master.cores // executors.cores, int(master.memory // memory))
    if fitting * master.workers < executors.instances:
        each = f"{counted(executors.cores, 'core')} and {memory:g} MiB"
        found = f"{executors.instances} executors of {each} on {master.text}"
        room = counted(fitting * master.workers, "executor")
        wanted = f"local-cluster[{executors.instances},{executors.cores},{memory:g}]"
        fix = f"--master '{wanted}'"
        yield RULES["spark-workers"].at(words.master, found, f"{room} at most", fix)
    if executors.gpus:
        found = f"{executors.gpus} with {words.master} {master.text}"
        yield RULES["spark-local-gpus"].at(words.gpus, found)


def _mebibytes(text: str) -> float:
    """Of ``spark.executor.memory``; Spark's default where it says nothing that can be read."""
    found = _MEMORY.fullmatch(text.strip().lower())
    amount = float(found[1]) * _MEBIBYTES[found[2]] if found else 0
    return amount or _DEFAULT_MEMORY


def _meant(text: str) -> str:
    """What a master that is none was probably meant to be."""
    bare = text.strip()
    plain = re.sub(r"[^a-z0-9*]+", " ", bare.lower()).split()
    host = re.match(r"([A-Za-z0-9._-]+)(?::(\d{1,5}))?", re.sub(r"^\w+:/*(?=\D)", "", bare))
    name = host[1] if host else "HOST"
    if plain[:2] in (["yarn", "client"], ["yarn", "cluster"]):
        return f"--master yarn --deploy-mode {plain[1]}"
    if plain[:1] == ["yarn"]:
        return "--master yarn"
    if plain[:2] == ["local", "cluster"]:
        return "--master 'local-cluster[WORKERS,CORES,MEBIBYTES]', all three from 1"
    if plain and re.fullmatch(r"local\d*", plain[0]):
        number = next((word for word in re.findall(r"(?<!\d)[1-9]\d{0,8}(?!\d)|\*", bare)), "2")
        return f"--master 'local[{number}]', in quotes for the shell"
    if re.match(r"mesos|zk", bare, re.IGNORECASE):
        return "Spark 4 has no Mesos: use a standalone cluster, YARN or Kubernetes"
    if bare.lower().startswith("sc://"):
        return "a Spark Connect server starts no ranks: name the cluster behind it"
    if re.match(r"k8s|kubernetes|https://", bare, re.IGNORECASE):
        address = re.sub(r"^[a-z0-9]*:?/*(?=https?:)|^[a-z0-9]+:/*", "", bare, flags=re.I)
        address = address if address.startswith("http") else f"https://{address or 'HOST:6443'}"
        return f"--master k8s://{address}"
    if bare.lower().startswith("http://"):
        return f"that is a page for people: {_standalone(name, '7077')}, as its first line says"
    if host and re.match(r"spark:|[\w.-]+:\d+$", bare):
        port = host[2] if host[2] and 0 < int(host[2]) < 65536 else "7077"
        return f"{_standalone(name, port)}, each address with its port"
    return RULES["spark-master"].fix


def _standalone(name: str, port: str) -> str:
    """How a master there is named, if Spark can read the host's name."""
    if read_master(f"spark://{name}:{port}"):
        return f"--master spark://{name}:{port}"
    why = "no _" if "_" in name else "letters, digits and -, and a letter first in the last part"
    return f"--master spark://HOST:{port} with another name or the IP address: Spark takes {why}"

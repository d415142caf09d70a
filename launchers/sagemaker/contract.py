"""What SageMaker promises a training container, read from a CreateTrainingJob request. Pure.

Source: the SageMaker developer guide, "How Amazon SageMaker provides training information"
(/opt/ml/input/config, /opt/ml/input/data, the command ``train``), and its own toolkit,
sagemaker-training 5.1.4, environment.py, which reads those files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from launchers.core.model.containers import Conduct, Container, Hardware
from launchers.core.model.document import at, entries, mapping, whole_number
from launchers.sagemaker.container_channels import DATA, channels, code_of, input_data_config
from launchers.sagemaker.document import (
    CHECKPOINT_PATH,
    MPI_PROCESSES_PER_HOST,
    bootstrap_arguments,
    hyperparameter,
    starts_agent,
    uses_mpi,
)
from launchers.sagemaker.sidecars.declared import (
    ACCESS,
    MACHINE_ACCOUNT,
    STORE,
    STORE_URL,
    data_source,
)
from launchers.sagemaker.starts.agent import WAY as AGENT
from launchers.sagemaker.starts.agent import processes_of
from launchers.sagemaker.starts.read import start_of
from launchers.sagemaker.starts.start import Start
from launchers.sagemaker.starts.ways import strategy_of
from launchers.sagemaker.tables.machines import Machine, machine

ROOT = "/opt/ml"
CONFIG = f"{ROOT}/input/config"
INTERFACE = "eth0"
DEFAULT_REGION = "us-east-1"
_ONE_GROUP = "homogeneousCluster"
_LINES = Path(__file__).with_name("container_lines.json")


def contract(
    document: Mapping[str, Any], ranks_per_host: int | None = None, serve_code: bool = True
) -> list[Container]:
    """What each host of the request's job would see, algo-1 first.

    Args:
        document: The request.
        ranks_per_host: Stands for the request's own number in what the containers see; the
            request is not changed.
        serve_code: Whether a ``sagemaker_submit_directory`` in S3 is served by an object store
            beside the containers; without it the toolkit asks AWS.
    """
    groups = _groups(document)
    hosts = sorted(host for group in groups for host in group["hosts"])
    start = start_of(document)
    ranks = _ranks(document, start, groups, hosts, ranks_per_host)
    # A container of this machine has no GPUs that the toolkit could count.
    each = ranks_per_host or _counted(document, start)
    containers = []
    for group in groups:
        for host in group["hosts"]:
            config = _resource_config(host, hosts, group, groups)
            containers.append(
                _container(document, host, config, ranks[hosts.index(host)], each, serve_code)
            )
    # The first host of mpirun starts the job, and ends it.
    leader = next((host for host, own in zip(hosts, ranks, strict=True) if own), hosts[0])
    containers = [replace(one, leader=one.name == leader) for one in containers]
    return sorted(containers, key=lambda container: hosts.index(container.name))


def conduct(document: Mapping[str, Any]) -> Conduct:
    """How SageMaker ends the request's job, and what its toolkit's known lines mean.

    Figures: SIGTERM comes 120 s before SIGKILL (developer guide, StopTrainingJob); a worker ends
    shortly before algo-1 (sagemaker-training 5.1.4, mpi.py: both sleep 30 s after mpirun).
    """
    start = start_of(document)
    counted = _counted(document, start)
    left_out = (f"{MPI_PROCESSES_PER_HOST} is set to {counted}: no GPUs are counted here",)
    return Conduct.reading(
        _LINES,
        left_out=left_out if counted else (),
        max_runtime=whole_number(at(document, "StoppingCondition", "MaxRuntimeInSeconds")),
        stop_grace=120.0,
        follow_within=60.0,
        isolated=at(document, "EnableNetworkIsolation") is True,
        access=ACCESS,
        machine_account=MACHINE_ACCOUNT,
        image_needs=_image_needs(document, start),
        unlike=_unlike_network(document),
        store=STORE,
        data=data_source,
    )


def unlike(document: Mapping[str, Any]) -> str:
    """Why containers of this machine would not show what the request starts; empty where they do.

    The rehearsal proves Horovod's ranks, those of MPI and those of a command of the request's own,
    whatever our agent starts, torchrun's, and the hosts of a MultiWorkerMirroredStrategy. Whether
    an image of one's own knows the flag of the last two, its own toolkit shows.
    """
    start = start_of(document)
    if start.way in ("mpi", AGENT, "plain", "command", "image") or strategy_of(document):
        return ""
    if start.way in ("unknown", "drivers"):
        return start.because
    return f"{start.because}: the rehearsal does not watch ranks that are started so"


def _counted(document: Mapping[str, Any], start: Start) -> int | None:
    """Processes on a host that the toolkit counts by itself; None where the request says them."""
    if start.way != "mpi" or MPI_PROCESSES_PER_HOST in mapping(document, "HyperParameters"):
        return None
    return next((each for _, each in start.placed), None)


def _unlike_network(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Without a VPC of one's own training containers reach the internet (developer guide, "Give
    SageMaker Training Jobs Access to Resources in Your VPC")."""
    if at(document, "EnableNetworkIsolation") is True:
        return ()
    if mapping(document, "VpcConfig"):
        return ("network: this machine's, every port open, not the VPC's subnets and groups",)
    return ("network: this machine's, with its proxies and its names; every port is open",)


def _hardware(document: Mapping[str, Any], found: Machine | None) -> Hardware | None:
    if found is None:
        return None
    volume = whole_number(at(document, "ResourceConfig", "VolumeSizeInGB")) or 0
    # A machine with disks of its own gets those.
    return Hardware(found.name, found.vcpus, found.memory_gib, found.local_nvme_gb or volume)


def _image_needs(document: Mapping[str, Any], start: Start) -> tuple[str, ...]:
    """What the toolkit starts ranks by; another way of starting needs nothing of it for sure."""
    if start.way != "mpi":
        return ()
    hosts = sum(len(group["hosts"]) for group in _groups(document))
    return ("toolkit", "mpirun", "mpi4py", *(("sshd",) if hosts > 1 else ()))


def _groups(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The instance groups as resourceconfig.json lists them; hosts are numbered through."""
    resources = mapping(document, "ResourceConfig")
    named = entries(resources, "InstanceGroups") or [{**resources, "InstanceGroupName": _ONE_GROUP}]
    groups, number = [], 0
    for group in named:
        count = whole_number(group.get("InstanceCount")) or 1
        groups.append(
            {
                "instance_group_name": str(group.get("InstanceGroupName", _ONE_GROUP)),
                "instance_type": str(group.get("InstanceType", "local")),
                "hosts": [f"algo-{number + index + 1}" for index in range(count)],
            }
        )
        number += count
    return groups


def _ranks(
    document: Mapping[str, Any],
    start: Start,
    groups: list[dict[str, Any]],
    hosts: list[str],
    ranks_per_host: int | None,
) -> list[tuple[int, ...]]:
    """The global ranks of each host: mpirun fills the hosts of the groups that take part, one after
    the other (``-map-by slot``), and so do our agents."""
    ranks: dict[str, tuple[int, ...]] = {}
    joined = start.way in ("mpi", AGENT) or bool(strategy_of(document) and start.placed)
    # Where several groups start jobs of their own, no number is a rank of one job.
    if joined and start.ranks is not None and not start.problems:
        taking = {group.name: each for group, each in start.placed}
        if start.way == AGENT:
            taking = dict.fromkeys(taking, processes_of(document))
        first = 0
        for group in groups:
            each = ranks_per_host or taking.get(group["instance_group_name"], 0)
            for host in sorted(group["hosts"]) if group["instance_group_name"] in taking else ():
                ranks[host] = tuple(range(first, first + each))
                first += each
    return [ranks.get(host, ()) for host in hosts]


def _container(
    document: Mapping[str, Any],
    host: str,
    resource_config: Mapping[str, Any],
    ranks: tuple[int, ...],
    ranks_per_host: int | None,
    serve_code: bool,
) -> Container:
    algorithm = mapping(document, "AlgorithmSpecification")
    code = code_of(document)
    instance_type = machine(str(resource_config["current_instance_type"]))
    kept = _checkpoints(document)
    arguments = algorithm.get("ContainerArguments")
    return Container(
        name=host,
        hostname=host,
        image=str(algorithm.get("TrainingImage", "")),
        entrypoint=_words(algorithm.get("ContainerEntrypoint")),
        command=_words(arguments) if arguments else ("train",),
        code_digest=bootstrap_arguments(document)[0] if starts_agent(document) else "",
        environment=_environment(document, ranks_per_host, serve_code and code.startswith("s3:")),
        files={
            f"{CONFIG}/resourceconfig.json": _json(resource_config),
            f"{CONFIG}/hyperparameters.json": _json(_hyperparameters(document, ranks_per_host)),
            f"{CONFIG}/inputdataconfig.json": _json(input_data_config(document)),
        },
        folders=(f"{ROOT}/model", f"{ROOT}/output/data", DATA, *_intermediate(document), *kept),
        channels=tuple(channels(document, code)),
        code=code,
        ranks=ranks,
        gpus=instance_type.gpus if instance_type else 0,
        hardware=_hardware(document, instance_type),
        collected={"model": f"{ROOT}/model", "output": f"{ROOT}/output"},
        kept=kept,
    )


def _resource_config(
    host: str, hosts: list[str], group: Mapping[str, Any], groups: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "current_host": host,
        "current_instance_type": group["instance_type"],
        "current_group_name": group["instance_group_name"],
        "hosts": hosts,
        "instance_groups": groups,
        "network_interface_name": INTERFACE,
    }


def _hyperparameters(document: Mapping[str, Any], ranks_per_host: int | None) -> dict[str, Any]:
    """The request's own values, to the letter; the toolkit parses each as JSON itself."""
    values = mapping(document, "HyperParameters")
    if ranks_per_host is not None and uses_mpi(document):
        values[MPI_PROCESSES_PER_HOST] = str(ranks_per_host)
    return values


def _environment(
    document: Mapping[str, Any], ranks_per_host: int | None, object_store: bool
) -> dict[str, str]:
    name = str(document.get("TrainingJobName", "rehearsal"))
    region = str(hyperparameter(document, "sagemaker_region") or DEFAULT_REGION)
    values = {
        **mapping(document, "Environment"),
        "TRAINING_JOB_NAME": name,
        "TRAINING_JOB_ARN": f"arn:aws:sagemaker:{region}:000000000000:training-job/{name}",
        "AWS_REGION": region,
    }
    if ranks_per_host is not None:
        hosts = sum(len(group["hosts"]) for group in _groups(document))
        reduced = {
            "LAUNCH_PROCESSES": ranks_per_host,
            "LAUNCH_WORLD_SIZE": ranks_per_host * hosts,
        }
        values.update({key: str(value) for key, value in reduced.items() if key in values})
    if object_store:
        values["S3_ENDPOINT_URL"] = STORE_URL
    return {key: str(value) for key, value in values.items()}


def _checkpoints(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The folder that the service keeps in S3; without a CheckpointConfig it keeps none."""
    config = mapping(document, "CheckpointConfig")
    return (str(config.get("LocalPath", CHECKPOINT_PATH)),) if config else ()


def _intermediate(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Where this folder exists the toolkit leaves its upload to the service, which is us."""
    wanted = hyperparameter(document, "sagemaker_s3_output")
    return (f"{ROOT}/output/intermediate",) if wanted else ()


def _words(value: object) -> tuple[str, ...]:
    return tuple(str(word) for word in value) if isinstance(value, list) else ()


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()

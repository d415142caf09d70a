"""From a JobSpec to everything that a CustomJob says. Pure: tables, files, the environment and the
job itself are all that is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.analysis.keras_choice import choose_keras, stack_of_image
from launchers.core.credentials.search import problems_in_arguments
from launchers.core.model.jobs import Placeholder
from launchers.core.model.problems import Problem
from launchers.core.planning.gpu_pinning import pinning
from launchers.core.planning.machine_choice import rank_problems
from launchers.core.planning.plan import Plan
from launchers.core.planning.rank_environment import rank_environment
from launchers.core.records import nonce
from launchers.core.rules.environment import problems_in_names
from launchers.core.rules.secrets import problems_in_secrets
from launchers.core.source.script import bundle_of, locate, requirements_file
from launchers.core.spec.job import JobSpec
from launchers.vertex.document import (
    DIGEST_LABEL,
    RUN_LABEL,
    SCHEME,
    WORLD_SIZE_LABEL,
    bootstrap,
    escaped,
    mounted,
    stored,
    words,
)
from launchers.vertex.options import VertexOptions
from launchers.vertex.planning.account import Account, account_of
from launchers.vertex.planning.flags import boot_disk, problems_in_flags
from launchers.vertex.planning.image_choice import ImageChoice, build_line, choose_image
from launchers.vertex.planning.machine_choice import MachineChoice, choose_machine
from launchers.vertex.planning.rows import rows
from launchers.vertex.tables import machines

DEFAULT_MAX_RUNTIME_SECONDS = 86400
_RESERVATION_KEY = "compute.googleapis.com/reservation-name"


@dataclass(frozen=True, kw_only=True)
class VertexPlan(Plan):
    """What templates/vertex needs besides. Places are ``gs://`` addresses."""

    account: Account
    pools: tuple[Mapping[str, Any], ...]
    scheduling: Mapping[str, Any]
    labels: Mapping[str, str]
    output: str
    checkpoints: str

    @property
    def checkpoint_place(self) -> str:
        """The folder in the bucket; the ranks see it below /gcs."""
        return self.checkpoints

    @property
    def destination(self) -> Mapping[str, str]:
        """What the request's address says."""
        return {"project": self.account.project, "location": self.account.location}


def make_plan(job: JobSpec) -> VertexPlan:
    """Every default decided, every placeholder named."""
    source, problems = locate(job)
    problems += requirements_file(job)[1]
    machine = choose_machine(job)
    processes = job.processes or machine.gpus or 1
    account = account_of(job)
    image = choose_image(job)
    sha256 = bundle_of(job).sha256
    pin = pinning(job, machine.gpus, "the machine has no GPU")
    places = _places(job, account, sha256)
    keras = choose_keras(job, source, stack_of_image(image.uri), job.instances * processes)
    environment = rank_environment(job, processes, pin[0], mounted(places["checkpoints"]))
    environment |= keras.variables
    scheduling = _scheduling(job)
    problems += keras.problems
    problems += [*machine.problems, *image.problems, *_problems(job, processes, machine, account)]
    container = {
        "imageUri": image.uri,
        "command": ["python3", "-c", bootstrap()],
        "args": [mounted(places["code"]), sha256, words(source.program, job.arguments)],
        "env": _variables(environment),
    }
    return VertexPlan(
        job=job,
        name=job.full_name or "NAME",
        instances=job.instances,
        processes=processes,
        gpus=machine.gpus,
        environment=environment,
        account=account,
        pools=_pools(job, machine, container),
        scheduling=scheduling,
        labels=_labels(job, processes),
        output=places["output"],
        checkpoints=places["checkpoints"],
        problems=tuple(problems),
        placeholders=_placeholders(account, image),
        features=features(job, machine),
        rows=keras.shown(
            rows(job, source, machine, image, account, processes, pin, places, scheduling)
        ),
    )


def features(job: JobSpec, machine: MachineChoice) -> frozenset[str]:
    """What the request asks of google-cloud-aiplatform, in the words of minimums.json."""
    options: VertexOptions = job.options
    asked = {
        "rest": True,
        "worker_pool_specs": True,
        "restart_job_on_worker_restart": _restarts(job),
        "enable_web_access": options.web_access,
        "disable_retries": options.disable_retries,
        "persistent_resource_id": options.persistent_resource is not None,
        "spot": job.spot,
        "reservation_affinity": options.reservation is not None,
        "flex_start": options.flex_start,
        "max_wait_duration": job.max_wait is not None,
        "psc_interface_config": options.network_attachment is not None,
        f"accelerator.{machine.accelerator}": bool(machine.accelerator),
    }
    return frozenset(f"vertex.request.{name}" for name, wanted in asked.items() if wanted)


def _problems(
    job: JobSpec, processes: int, machine: MachineChoice, account: Account
) -> list[Problem]:
    return [
        *problems_in_names(job.environment),
        *problems_in_arguments(job.arguments, "--", frozenset(job.allow_values)),
        *problems_in_secrets(job.secrets, "google", environment=job.environment),
        *problems_in_flags(job, account),
        *rank_problems(processes, machine.gpus),
    ]


def _places(job: JobSpec, account: Account, sha256: str) -> dict[str, str]:
    root = f"{SCHEME}{account.bucket}/launch"
    name = job.full_name or "NAME"
    checkpoints = job.checkpoint or job.checkpoint_folder
    return {
        "code": f"{root}/code/{sha256}/sourcedir.tar.gz",
        "output": job.output_path or f"{root}/output/{name}",
        "checkpoints": stored(checkpoints or f"{root}/checkpoints/{job.checkpoint_of or name}"),
    }


def _variables(environment: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": escaped(value)} for name, value in environment.items()]


def _pools(
    job: JobSpec, machine: MachineChoice, container: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ...]:
    """The chief alone in the first pool, the other hosts in the second, reduction servers in the
    third; a pool in between that has none is an empty object."""
    disk = boot_disk(job.options.boot_disk)[0]
    hardware = _machine_spec(machine.name, job.options.reservation, machine)
    pools = [_pool(hardware, 1, disk, container)]
    servers = job.options.reduction_servers
    if job.instances > 1:
        pools.append(_pool(hardware, job.instances - 1, disk, container))
    elif servers:
        pools.append({})
    if servers:
        name, image = machines.reduction_server()
        hardware = _machine_spec(job.options.reduction_server_machine or name, None, None)
        spec = {"imageUri": image, "env": container["env"]}
        pools.append(_pool(hardware, servers, disk, spec))
    return tuple(pools)


def _pool(
    hardware: Mapping[str, Any],
    replicas: int,
    disk: Mapping[str, Any] | None,
    container: Mapping[str, Any],
) -> Mapping[str, Any]:
    return {
        "machineSpec": hardware,
        # The JSON form of a 64 bit number is a text.
        "replicaCount": str(replicas),
        **({"diskSpec": disk} if disk else {}),
        "containerSpec": container,
    }


def _machine_spec(
    name: str, reservation: str | None, machine: MachineChoice | None
) -> Mapping[str, Any]:
    spec: dict[str, Any] = {"machineType": name}
    if machine is not None and machine.accelerator:
        spec |= {"acceleratorType": machine.accelerator, "acceleratorCount": machine.gpus}
    if reservation == "any":
        spec["reservationAffinity"] = {"reservationAffinityType": "ANY_RESERVATION"}
    elif reservation:
        spec["reservationAffinity"] = {
            "reservationAffinityType": "SPECIFIC_RESERVATION",
            "key": _RESERVATION_KEY,
            "values": [reservation],
        }
    return spec


def _restarts(job: JobSpec) -> bool:
    """Whether a restarted worker restarts the job: the ranks of several hosts begin together.

    ``disableRetries`` would set it to false (Scheduling of the API).
    """
    return job.instances > 1 and not job.options.disable_retries


def _scheduling(job: JobSpec) -> dict[str, Any]:
    scheduling: dict[str, Any] = {"timeout": f"{job.max_runtime or DEFAULT_MAX_RUNTIME_SECONDS}s"}
    if _restarts(job):
        scheduling["restartJobOnWorkerRestart"] = True
    if job.options.flex_start:
        scheduling["strategy"] = "FLEX_START"
    elif job.spot:
        scheduling["strategy"] = "SPOT"
    if job.options.disable_retries:
        scheduling["disableRetries"] = True
    if job.max_wait is not None:
        scheduling["maxWaitDuration"] = f"{job.max_wait}s"
    return scheduling


def _labels(job: JobSpec, processes: int) -> dict[str, str]:
    """The user's, and those by which a job is found again, since names are not unique."""
    base = job.full_name.removesuffix(f"-{job.run}")
    return {
        **job.tags,
        DIGEST_LABEL: base.rpartition("-")[2] or "none",
        RUN_LABEL: str(job.run),
        WORLD_SIZE_LABEL: str(job.instances * processes),
    }


def _placeholders(account: Account, image: ImageChoice) -> tuple[Placeholder, ...]:
    found = []
    if account.project_is_placeholder:
        found.append(
            Placeholder(
                "the project",
                account.project,
                "--project, GOOGLE_CLOUD_PROJECT or `gcloud config set project`",
            )
        )
    if account.bucket_is_placeholder:
        found.append(
            Placeholder(
                "every gs:// and /gcs place",
                account.bucket,
                "--bucket, or the project's own at submission",
            )
        )
    if image.is_placeholder:
        found.append(
            Placeholder(
                "$.jobSpec.workerPoolSpecs[*].containerSpec.imageUri",
                image.uri,
                f"--image, or build and push ours: {build_line(account)}",
            )
        )
    if account.location_is_assumed:
        found.append(
            Placeholder(
                "the location", account.location, "--location, or `gcloud config set ai/region`"
            )
        )
    place = "$.jobSpec.workerPoolSpecs[*].containerSpec.env.LAUNCH_NONCE"
    return (*found, nonce.placeholder(place))

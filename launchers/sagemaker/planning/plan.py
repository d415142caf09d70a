"""From a JobSpec to everything that a CreateTrainingJob request says. Pure: tables, files and the
job itself are all that is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from launchers.core.analysis.keras_choice import choose_keras
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
from launchers.sagemaker.document import CHECKPOINT_PATH
from launchers.sagemaker.options import SageMakerOptions
from launchers.sagemaker.planning.account import Account, account_of
from launchers.sagemaker.planning.hyperparameters import hyperparameters, shown_arguments_problems
from launchers.sagemaker.planning.image_choice import choose_image
from launchers.sagemaker.planning.machine_choice import MachineChoice, choose_machine
from launchers.sagemaker.planning.rows import rows

DEFAULT_VOLUME_GB = 30
DEFAULT_MAX_RUNTIME_SECONDS = 86400


@dataclass(frozen=True, kw_only=True)
class SageMakerPlan(Plan):
    """What templates/sagemaker needs besides. Places are ``s3://`` addresses, times seconds,
    sizes GB."""

    account: Account
    machine: str
    image: str
    code: str
    output: str
    checkpoints: str
    volume_size: int
    max_runtime: int
    hyperparameters: Mapping[str, str]
    channels: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)

    @property
    def checkpoint_place(self) -> str:
        """The S3 prefix that SageMaker keeps in step with the hosts' folder."""
        return self.checkpoints

    @property
    def destination(self) -> Mapping[str, str]:
        """The account that the role, and with it the job, is in."""
        return {"account": self.account.role.split(":")[4]} if ":" in self.account.role else {}


def make_plan(job: JobSpec) -> SageMakerPlan:
    """Every default decided, every placeholder named."""
    source, problems = locate(job)
    problems += requirements_file(job)[1]
    machine = choose_machine(job)
    processes = job.processes or machine.gpus or 1
    account = account_of(job)
    image = choose_image(job, machine, account)
    bundle = bundle_of(job)
    pin = pinning(job, machine.gpus, "the machine has no GPU")
    places = _places(job, account, bundle.sha256)
    keras = choose_keras(job, source, image.stack(), job.instances * processes)
    environment = rank_environment(job, processes, pin[0], CHECKPOINT_PATH) | keras.variables
    problems += [*machine.problems, *image.problems, *keras.problems]
    problems += _problems(job, processes, machine)
    return SageMakerPlan(
        job=job,
        name=job.full_name or "NAME",
        instances=job.instances,
        processes=processes,
        gpus=machine.gpus,
        environment=environment,
        account=account,
        machine=machine.name,
        image=image.uri,
        code=places["code"],
        output=places["output"],
        checkpoints=places["checkpoints"],
        volume_size=job.options.volume_size or DEFAULT_VOLUME_GB,
        max_runtime=job.max_runtime or DEFAULT_MAX_RUNTIME_SECONDS,
        hyperparameters=hyperparameters(
            job,
            source,
            processes,
            account.region,
            environment,
            machine.mpi_options,
        ),
        channels=_channels(job.options, places["code"]),
        problems=tuple(problems),
        placeholders=_placeholders(account, places),
        features=features(job),
        rows=keras.shown(rows(job, source, machine, image, account, processes, pin, places)),
    )


def features(job: JobSpec) -> frozenset[str]:
    """What the request asks of boto3 and botocore, in the words of minimums.json."""
    options: SageMakerOptions = job.options
    asked = {
        "Environment": True,
        "RetryStrategy": options.retries is not None,
        "KeepAlivePeriodInSeconds": options.keep_alive is not None,
        "MaxPendingTimeInSeconds": options.max_pending is not None,
    }
    return frozenset(f"sagemaker.request.{name}" for name, wanted in asked.items() if wanted)


def _problems(job: JobSpec, processes: int, machine: MachineChoice) -> list[Problem]:
    problems = problems_in_names(job.environment)
    allowed = frozenset(job.allow_values)
    problems += problems_in_arguments(job.arguments, "--", allowed)
    problems += shown_arguments_problems(job.arguments)
    problems += problems_in_secrets(job.secrets, "aws", environment=job.environment)
    problems += _isolation(job)
    problems += rank_problems(processes, machine.gpus)
    if job.spot and job.max_wait is None:
        problems.append(
            Problem(
                "--max-wait",
                "missing",
                "a time of at least --max-runtime, since --spot is on",
                "it counts waiting and running together",
                rule="spot-wait",
            )
        )
    return problems


def _isolation(job: JobSpec) -> list[Problem]:
    if not job.options.isolate:
        return []
    refused = [("--secret", job.secrets), ("--requirements", job.requirements)]
    return [
        Problem(
            "--isolate",
            f"together with {flag}",
            "one of the two",
            "containers without a network can fetch neither secrets nor packages",
            rule="isolation",
        )
        for flag, value in refused
        if value
    ]


def _places(job: JobSpec, account: Account, sha256: str) -> dict[str, str]:
    root = f"s3://{account.bucket}/launch"
    name = job.checkpoint_of or job.full_name or "NAME"
    return {
        "code": f"{root}/code/{sha256}/sourcedir.tar.gz",
        "output": job.output_path or f"{root}/output",
        "checkpoints": job.checkpoint or job.checkpoint_folder or f"{root}/checkpoints/{name}",
    }


def _placeholders(account: Account, places: Mapping[str, str]) -> tuple[Placeholder, ...]:
    found = []
    if account.role_is_placeholder:
        found.append(
            Placeholder("$.RoleArn", account.role, "--role, or the account's own at submission")
        )
    if account.bucket_is_placeholder:
        found.append(
            Placeholder(
                "every s3:// place", account.bucket, "--bucket, or the account's own at submission"
            )
        )
    if account.region_origin == "assumed":
        found.append(
            Placeholder("the region", account.region, "--region, AWS_REGION or the profile's")
        )
    return (*found, nonce.placeholder("$.Environment.LAUNCH_NONCE"))


def _channels(options: SageMakerOptions, code: str) -> tuple[Mapping[str, Any], ...]:
    channels = []
    for name, text in options.channels.items():
        place, *words = text.split(",")
        modes = {"fastfile": "FastFile", "pipe": "Pipe"}
        mode = next((modes[word] for word in words if word in modes), None)
        channels.append(_channel(name, place, "sharded" in words, mode))
    return (*channels, _channel("code", code, False, None))


def _channel(name: str, place: str, sharded: bool, mode: str | None) -> Mapping[str, Any]:
    return {
        "ChannelName": name,
        "DataSource": {
            "S3DataSource": {
                "S3DataType": "S3Prefix",
                "S3Uri": place,
                "S3DataDistributionType": "ShardedByS3Key" if sharded else "FullyReplicated",
            }
        },
        **({"InputMode": mode} if mode else {}),
    }

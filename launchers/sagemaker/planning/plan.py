"""What a CreateTrainingJob request will say, decided before it is rendered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launchers.core.analysis.keras_choice import KerasChoice
from launchers.core.model.jobs import Placeholder
from launchers.core.planning.plan import Plan, Row, counted
from launchers.core.planning.rank_environment import rank_environment
from launchers.core.planning.rows import (
    checkpoints_row,
    hang_rows,
    pinning_rows,
    proof_row,
    requirements_rows,
    secrets_rows,
    source_rows,
)
from launchers.core.records import nonce
from launchers.core.rules.request import Request
from launchers.core.spec.value_types import format_duration
from launchers.core.strategies import FIRST
from launchers.sagemaker.document import (
    CHECKPOINT_PATH,
    CODE_CHANNEL,
    ENTRYPOINT,
    container_arguments,
)
from launchers.sagemaker.options import SageMakerJob, file_system
from launchers.sagemaker.planning.access_rows import access_rows
from launchers.sagemaker.planning.account import Account
from launchers.sagemaker.planning.hyperparameters import agents_hyperparameters, hyperparameters
from launchers.sagemaker.planning.image_choice import ImageChoice
from launchers.sagemaker.planning.machine_choice import MachineChoice

DEFAULT_VOLUME_GB = 30
DEFAULT_MAX_RUNTIME_SECONDS = 86400


@dataclass(frozen=True, kw_only=True)
class SageMakerPlan(Plan):
    """What templates/sagemaker needs besides. Places are ``s3://`` addresses, times seconds,
    sizes GB; None is a field that the request doesn't have."""

    job: SageMakerJob
    account: Account
    machine: MachineChoice
    image: ImageChoice
    keras: KerasChoice
    request: Request

    @property
    def code(self) -> str:
        """Where the source bundle lies."""
        return f"{self._root}/code/{self.source.bundle.sha256}/sourcedir.tar.gz"

    @property
    def output(self) -> str:
        """Where the service puts models, a folder a job."""
        return self.job.output_path or f"{self._root}/output"

    @property
    def checkpoints(self) -> str:
        """The S3 prefix that SageMaker keeps in step with the hosts' folder."""
        return self._checkpoint_place(f"{self._root}/checkpoints/{self.name}")

    @property
    def _root(self) -> str:
        return f"s3://{self.account.bucket}/launch"

    @property
    def destination(self) -> Mapping[str, str]:
        """Where the request goes: the account that the role, and with it the job, is in."""
        role = self.account.role
        account = {"account": role.split(":")[4]} if ":" in role else {}
        return {**account, "region": self.account.region}

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of every rank."""
        own = rank_environment(
            self, CHECKPOINT_PATH, provider="sagemaker", machine=self.machine.name
        )
        own |= self.keras.variables
        # What AWS's toolkit sets before torchrun, and what mpirun is told below.
        efa = {"FI_PROVIDER": "efa"} if self.by_agent and self.machine.has_efa else {}
        return efa | own

    @property
    def by_agent(self) -> bool:
        """Whether our agent starts the ranks, which it does for all but Horovod's: those the
        container's toolkit starts by MPI."""
        return self.strategy.name != FIRST

    @property
    def entry_point(self) -> Sequence[str] | None:
        """What starts our agent; None leaves that to the image."""
        return ENTRYPOINT if self.by_agent else None

    @property
    def container_arguments(self) -> Sequence[str] | None:
        """What the entry point gets."""
        return container_arguments(self.source.bundle.sha256) if self.by_agent else None

    @property
    def hyperparameters(self) -> Mapping[str, str]:
        """What the container's toolkit is told, or our agent."""
        if self.by_agent:
            return agents_hyperparameters(self, self.account.region)
        options = [*self.job.options.mpi_options, *self.machine.mpi_options]
        return hyperparameters(self, options, self.account.region)

    @property
    def channels(self) -> Sequence[Mapping[str, Any]]:
        """The user's input data, and the code."""
        channels = []
        for name, text in self.job.options.channels.items():
            place, *words = text.split(",")
            modes = {"fastfile": "FastFile", "pipe": "Pipe"}
            mode = next((modes[word] for word in words if word in modes), None)
            channels.append(_channel(name, place, words, mode))
        return [*channels, _channel(CODE_CHANNEL, self.code, [], None)]

    @property
    def volume_size(self) -> int:
        """Of each host."""
        return self.job.options.volume_size or DEFAULT_VOLUME_GB

    @property
    def machine_name(self) -> str:
        return self.machine.name

    @property
    def time_limit(self) -> int:
        return self.max_runtime

    @property
    def max_runtime(self) -> int:
        """The time limit."""
        return self.job.max_runtime or DEFAULT_MAX_RUNTIME_SECONDS

    @property
    def optional(self) -> Mapping[str, Any]:
        """Parts of the request that not every job has; None where this one doesn't."""
        job, options = self.job, self.job.options
        vpc = {"SecurityGroupIds": options.security_groups, "Subnets": options.subnets}
        retries = {"MaximumRetryAttempts": options.retries}
        tensorboard = {"S3OutputPath": options.tensorboard}
        metrics = [{"Name": name, "Regex": regex} for name, regex in options.metrics.items()]
        return {
            "metrics": metrics or None,
            "tags": [{"Key": key, "Value": value} for key, value in job.tags.items()] or None,
            "registry": self._registry,
            "tensorboard": tensorboard if options.tensorboard else None,
            "remote_debug": {"EnableRemoteDebug": True} if options.remote_debug else None,
            "vpc": vpc if options.subnets or options.security_groups else None,
            "isolate": options.isolate or None,
            "encrypt_traffic": options.encrypt_traffic or None,
            "spot": job.spot or None,
            "retries": None if options.retries is None else retries,
        }

    @property
    def _registry(self) -> Mapping[str, Any] | None:
        """TrainingImageConfig."""
        said = self.job.options.private_registry
        if said is None:
            return None
        access = {"TrainingRepositoryAccessMode": "Vpc"}
        if said == "vpc":
            return access
        function = {"TrainingRepositoryCredentialsProviderArn": said}
        return {**access, "TrainingRepositoryAuthConfig": function}

    @property
    def features(self) -> frozenset[str]:
        """What the request asks of boto3 and botocore, in the words of minimums.json."""
        options = self.job.options
        asked = {
            "Environment": True,
            "RetryStrategy": options.retries is not None,
            "KeepAlivePeriodInSeconds": options.keep_alive is not None,
            "MaxPendingTimeInSeconds": options.max_pending is not None,
            "TrainingPlanArn": options.training_plan is not None,
            "RemoteDebugConfig": options.remote_debug,
            "ContainerEntrypoint": self.by_agent,
            **dict.fromkeys(self.request.fields, True),
        }
        return frozenset(f"sagemaker.request.{name}" for name, wanted in asked.items() if wanted)

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """Role, bucket and region where nothing says them, and the nonce."""
        account, found = self.account, []
        if account.role_is_placeholder:
            fill = "--role, or the account's own at submission"
            found.append(Placeholder("$.RoleArn", account.role, fill))
        if account.bucket_is_placeholder:
            fill = "--bucket, or the account's own at submission"
            found.append(Placeholder("every s3:// place", account.bucket, fill))
        if account.region_origin == "assumed":
            fill = "--region, AWS_REGION or the profile's"
            found.append(Placeholder("the region", account.region, fill))
        return (*found, nonce.placeholder("$.Environment.LAUNCH_NONCE"))

    @property
    def ranks_text(self) -> str:
        """How many ranks there will be, and who starts them."""
        by = "our agent" if self.by_agent else "MPI"
        return f"{self.layout}, by {by}"

    def _rows(self) -> Sequence[Row]:
        """What the user decides by: ranks first, then where each value came from."""
        job, machine, account = self.job, self.machine, self.account
        gpu_model = machine.found.gpu_model if machine.found and machine.gpus else ""
        hardware = f"{counted(machine.gpus, 'GPU')} {gpu_model}".strip()
        found = [
            Row("ranks", self.ranks_text, "--instances, --processes"),
            proof_row(self),
            Row("machine", f"{machine.name}, {hardware}", machine.origin),
            Row("image", self.image.uri, self.image.origin),
            Row("", self.image.described()),
            *source_rows(self),
            *self.keras.rows,
            *pinning_rows(self),
            Row("region", account.region, account.region_origin),
            Row("role", account.role, account.role_origin),
            Row("bucket", account.bucket, account.bucket_origin),
            Row("code", self.code),
            checkpoints_row(self, self.checkpoints),
            Row("output", self.output, "--output-path" if job.output_path else ""),
            *secrets_rows(self),
            *hang_rows(self),
            *self.request.rows,
        ]
        found += access_rows(job)
        if job.max_runtime:
            found.append(Row("time limit", format_duration(job.max_runtime), "--max-runtime"))
        if job.spot:
            wait = format_duration(job.max_wait) if job.max_wait else "missing"
            found.append(Row("spot", f"waits and runs for at most {wait}", "--spot, --max-wait"))
        return [*found, *requirements_rows(self, "installed once a host")]


def _channel(name: str, place: str, words: Sequence[str], mode: str | None) -> Mapping[str, Any]:
    found = file_system(place)
    if found:
        kind, file_system_id, folder = found
        source = {
            "FileSystemId": file_system_id,
            "FileSystemAccessMode": "rw" if "rw" in words else "ro",
            "FileSystemType": kind,
            "DirectoryPath": folder,
        }
        return {"ChannelName": name, "DataSource": {"FileSystemDataSource": source}}
    sharded = "sharded" in words
    return {
        "ChannelName": name,
        "DataSource": {
            "S3DataSource": {
                "S3DataType": "S3Prefix",
                "S3Uri": place,
                "S3DataDistributionType": "ShardedByS3Key" if sharded else "FullyReplicated",
            }
        },
        "InputMode": mode,
    }

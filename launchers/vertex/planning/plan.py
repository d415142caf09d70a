"""What a CustomJob will say, decided before it is rendered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from launchers.core.analysis.keras_choice import KerasChoice
from launchers.core.model.jobs import Placeholder
from launchers.core.planning import plan as core
from launchers.core.planning.plan import Plan, Row, counted
from launchers.core.planning.rank_environment import rank_environment
from launchers.core.planning.rows import (
    checkpoints_row,
    hang_rows,
    limits_rows,
    pinning_rows,
    proof_row,
    requirements_rows,
    secrets_rows,
    source_rows,
)
from launchers.core.records import nonce
from launchers.core.rules.request import Request
from launchers.core.spec import limits
from launchers.core.spec.value_types import format_duration
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
from launchers.vertex.options import VertexJob
from launchers.vertex.planning.access_rows import access_rows
from launchers.vertex.planning.account import Account
from launchers.vertex.planning.flags import problems_in_account
from launchers.vertex.planning.image_choice import ImageChoice, build_line
from launchers.vertex.planning.machine_choice import MachineChoice
from launchers.vertex.planning.partition_rows import partition_rows
from launchers.vertex.planning.pools import worker_pools
from launchers.vertex.tables import machines

DEFAULT_MAX_RUNTIME_SECONDS = 86400


@dataclass(frozen=True, kw_only=True)
class VertexPlan(Plan):
    """What templates/vertex needs besides. Places are ``gs://`` addresses; None is a field that
    the job doesn't have."""

    job: VertexJob
    account: Account
    machine: MachineChoice
    image: ImageChoice
    keras: KerasChoice
    request: Request

    def with_account(self, account: core.Account) -> Plan:
        """The same job in an account of which everything is known; its values are checked too."""
        assert isinstance(account, Account)
        found = [one for one in problems_in_account(account) if one not in self.problems]
        return replace(self, account=account, problems=(*self.problems, *found))

    @property
    def output(self) -> str:
        """The folder of the job's output."""
        return self.job.output_path or f"{self._root}/output/{self.name}"

    @property
    def checkpoints(self) -> str:
        """The folder in the bucket; the ranks see it below /gcs."""
        return stored(self._checkpoint_place(f"{self._root}/checkpoints/{self.name}"))

    @property
    def code(self) -> str:
        """Where the source bundle lies."""
        return f"{self._root}/code/{self.source.bundle.sha256}/sourcedir.tar.gz"

    @property
    def _root(self) -> str:
        return f"{SCHEME}{self.account.bucket}/launch"

    @property
    def destination(self) -> Mapping[str, str]:
        """What the request's address says."""
        location = self.account.location
        return {"project": self.account.project, "location": location, "region": location}

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of every rank."""
        own = rank_environment(
            self, mounted(self.checkpoints), provider="vertex", machine=self.machine.name
        )
        own |= self.keras.variables
        return own | limits.variables(self.job.options.limits)

    @property
    def pools(self) -> Sequence[Mapping[str, Any]]:
        """workerPoolSpecs."""
        program = words(self.source.program, self.job.arguments)
        container = {
            "imageUri": self.image.uri,
            "command": ["python3", "-c", bootstrap()],
            "args": [mounted(self.code), self.source.bundle.sha256, program],
            "env": [
                {"name": name, "value": escaped(value)} for name, value in self.environment.items()
            ],
        }
        return worker_pools(self.job, self.machine, container)

    @property
    def restarts_together(self) -> bool:
        """Whether a restarted worker restarts the job: the ranks of several hosts begin together.

        ``disableRetries`` would set it to false (Scheduling of the API).
        """
        return self.instances > 1 and not self.job.options.disable_retries

    @property
    def machine_name(self) -> str:
        return self.machine.name

    @property
    def time_limit(self) -> int:
        return self.max_runtime

    @property
    def max_runtime(self) -> int:
        """The time limit in seconds."""
        return self.job.max_runtime or DEFAULT_MAX_RUNTIME_SECONDS

    @property
    def scheduling(self) -> Mapping[str, Any]:
        """Scheduling."""
        wait = self.job.max_wait
        strategy = "SPOT" if self.job.spot else None
        return {
            "timeout": f"{self.max_runtime}s",
            "restartJobOnWorkerRestart": self.restarts_together or None,
            "strategy": "FLEX_START" if self.job.options.flex_start else strategy,
            "disableRetries": self.job.options.disable_retries or None,
            "maxWaitDuration": None if wait is None else f"{wait}s",
        }

    @property
    def optional(self) -> Mapping[str, Any]:
        """Parts of the CustomJob that not every job has; None where this one doesn't."""
        options = self.job.options
        interface, key = options.network_attachment, options.encryption_key
        return {
            "reserved_ip_ranges": options.reserved_ip_ranges or None,
            "network_interface": {"networkAttachment": interface} if interface else None,
            "web_access": options.web_access or None,
            "dashboard_access": options.dashboard_access or None,
            "experiment": self._context(options.experiment),
            "experiment_run": self._context(options.experiment_run, options.experiment),
            "encryption": {"kmsKeyName": key} if key else None,
        }

    def _context(self, name: str | None, experiment: str | None = None) -> str | None:
        """The full name of an experiment, or of a run of one, in the project's default store."""
        if name is None or "/" in name:
            return name
        account = self.account
        store = f"projects/{account.project}/locations/{account.location}/metadataStores/default"
        # A run's name begins with that of its experiment (CustomJobSpec.experimentRun).
        of = f"{experiment.rpartition('/')[2]}-" if experiment else ""
        return f"{store}/contexts/{of}{name}"

    @property
    def labels(self) -> Mapping[str, str]:
        """The user's, and those by which a job is found again, since names are not unique."""
        return {
            **self.job.tags,
            DIGEST_LABEL: self.run.digest or "none",
            RUN_LABEL: str(self.run.number),
            WORLD_SIZE_LABEL: str(self.world_size),
        }

    @property
    def features(self) -> frozenset[str]:
        """What the request asks of google-cloud-aiplatform, in the words of minimums.json."""
        options = self.job.options
        asked = {
            "rest": True,
            "worker_pool_specs": True,
            "restart_job_on_worker_restart": self.restarts_together,
            "enable_web_access": options.web_access,
            "disable_retries": options.disable_retries,
            "persistent_resource_id": options.persistent_resource is not None,
            "spot": self.job.spot,
            "reservation_affinity": bool(options.reservations),
            "experiment": options.experiment is not None,
            "flex_start": options.flex_start,
            "max_wait_duration": self.job.max_wait is not None,
            "psc_interface_config": "pscInterfaceConfig" in self.request.fields.get("jobSpec", {})
            or options.network_attachment is not None,
            f"accelerator.{self.machine.accelerator}": bool(self.machine.accelerator),
        }
        return frozenset(f"vertex.request.{name}" for name, wanted in asked.items() if wanted)

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """Project, bucket, image and location where nothing says them, and the nonce."""
        account, found = self.account, []
        if account.project_is_placeholder:
            fill = "--project, GOOGLE_CLOUD_PROJECT or `gcloud config set project`"
            found.append(Placeholder("the project", account.project, fill))
        if account.bucket_is_placeholder:
            fill = "--bucket, or the project's own at submission"
            found.append(Placeholder("every gs:// and /gcs place", account.bucket, fill))
        if self.image.is_placeholder:
            path = "$.jobSpec.workerPoolSpecs[*].containerSpec.imageUri"
            fill = f"--image, or build and push ours: {build_line(account, self.strategy.name)}"
            found.append(Placeholder(path, self.image.uri, fill))
        if account.location_is_assumed:
            fill = "--location, or `gcloud config set ai/region`"
            found.append(Placeholder("the location", account.location, fill))
        path = "$.jobSpec.workerPoolSpecs[*].containerSpec.env.LAUNCH_NONCE"
        return (*found, nonce.placeholder(path))

    def _rows(self) -> Sequence[Row]:
        """What the user decides by: ranks first, then where each value came from."""
        machine, account, options = self.machine, self.account, self.job.options
        hardware = f"{counted(machine.gpus, 'GPU')} {machine.gpu_model}".strip()
        return [
            Row("ranks", f"{self.layout}, by our agent", "--instances, --processes"),
            proof_row(self),
            Row("machine", f"{machine.name}, {hardware}", machine.origin),
            *partition_rows(self.request, machine),
            *([Row("boot disk", options.boot_disk, "--boot-disk")] if options.boot_disk else []),
            *self._reduction_rows(),
            Row("image", self.image.uri, self.image.origin),
            *source_rows(self),
            *self.keras.rows,
            *pinning_rows(self),
            Row("project", account.project, account.project_origin),
            Row("location", account.location, account.location_origin),
            Row("bucket", account.bucket, account.bucket_origin),
            Row(
                "runs as",
                options.service_account or "the project's Vertex AI Custom Code Service Agent",
                "--service-account",
            ),
            Row("code", self.code),
            checkpoints_row(self, self.checkpoints),
            Row("output", self.output, "--output-path" if self.job.output_path else ""),
            *secrets_rows(self),
            *access_rows(self.job, self.optional),
            *self.request.rows,
            *self._scheduling_rows(),
            *limits_rows(self.job.options.limits),
            *hang_rows(self),
            *requirements_rows(self, "installed once a replica"),
        ]

    def _reduction_rows(self) -> list[Row]:
        options = self.job.options
        if not options.reduction_servers:
            return []
        machine, image = machines.reduction_server()
        machine = options.reduction_server_machine or machine
        count = counted(options.reduction_servers, "replica")
        needed = "the ranks' image needs Google's NCCL plugin (google-reduction-server)"
        why = f"--reduction-servers, {needed}"
        return [
            Row(
                "reduction servers", f"{count} of {machine}, {image}", f"--reduction-servers, {why}"
            )
        ]

    def _scheduling_rows(self) -> list[Row]:
        job = self.job
        found = [Row("time limit", format_duration(self.max_runtime), "--max-runtime")]
        if job.options.flex_start:
            wait = (
                f"at most {format_duration(job.max_wait)}" if job.max_wait else "the default: 24h"
            )
            found.append(
                Row("flex-start", f"queues for its machines, {wait}", "--flex-start, --max-wait")
            )
        if job.spot:
            text = "machines may be taken back; the service then starts again"
            found.append(Row("spot", text, "--spot"))
        if self.restarts_together:
            found.append(Row("restart", "of one replica restarts the whole job", "several hosts"))
        elif job.options.disable_retries:
            found.append(Row("restart", "never", "--disable-retries"))
        return found

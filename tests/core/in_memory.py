"""A provider that lives in this process: it plans, renders and starts jobs, and keeps what it was
sent. So the way of a job through core can be tested without a service."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from launchers.core.analysis.strategy_choice import choose_strategy
from launchers.core.model.document import document_text
from launchers.core.model.jobs import PENDING, JobDefinition, JobHandle, JobStatus, LogLine
from launchers.core.model.jobs import Placeholder as Left
from launchers.core.model.problems import Problem
from launchers.core.planning import plan as core
from launchers.core.planning.gpu_pinning import Pinning
from launchers.core.planning.plan import Plan, Row
from launchers.core.planning.rank_environment import rank_environment
from launchers.core.planning.rows import checkpoints_row
from launchers.core.provider import Provider
from launchers.core.records import nonce
from launchers.core.roles import Definer, Service
from launchers.core.source.bundle import SourceBundle
from launchers.core.source.script import JobSource, read_source
from launchers.core.spec.job import JobSpec, ProviderOptions

UNKNOWN = "placeholder-bucket"


@dataclass(frozen=True)
class Account(core.Account):
    bucket: str = UNKNOWN


@dataclass(frozen=True, kw_only=True)
class MemoryPlan(Plan):
    account: Account

    @property
    def environment(self) -> Mapping[str, str]:
        return rank_environment(self, self.checkpoints, provider="memory")

    @property
    def checkpoints(self) -> str:
        return self._checkpoint_place(f"mem://{self.account.bucket}/{self.name}")

    @property
    def destination(self) -> Mapping[str, str]:
        return {"region": "here"}

    @property
    def placeholders(self) -> tuple[Left, ...]:
        left = [Left("bucket", UNKNOWN, "--bucket")] if self.account.bucket == UNKNOWN else []
        return (*left, nonce.placeholder("$.environment.LAUNCH_NONCE"))

    def _rows(self) -> Sequence[Row]:
        return [*self.strategy.rows, checkpoints_row(self, self.checkpoints)]


def planned(job: JobSpec, source: JobSource | None = None, **changed: Any) -> MemoryPlan:
    """The plan of ``job``; other fields as given."""
    plan = MemoryPlan(
        job=job,
        source=source or read_source(job),
        processes=job.processes or 1,
        gpus=0,
        pinning=Pinning("none", ""),
        account=Account(job.bucket or UNKNOWN),
    )
    return replace(plan, **changed)


class MemoryDefiner(Definer):
    options = ProviderOptions

    def __init__(self, sends_source: bool = True):
        self.sends_source = sends_source  # type: ignore[misc]
        self.plans = 0
        self.flag_problems: list[Problem] = []
        self.document_problems: list[Problem] = []

    def plan(self, job: JobSpec, source: JobSource) -> Plan:
        self.plans += 1
        strategy = choose_strategy(job, source, gpus=0)
        found = (*source.problems, *self.flag_problems, *strategy.problems)
        return planned(job, source, problems=found, strategy=strategy)

    def render(self, plan: Plan) -> JobDefinition:
        assert isinstance(plan, MemoryPlan)
        document = {
            "name": plan.name,
            "bucket": plan.account.bucket,
            "arguments": list(plan.job.arguments),
            "environment": dict(plan.environment),
        }
        return JobDefinition(
            "memory",
            plan.name,
            plan.world_size,
            document_text(document),
            document,
            plan.placeholders,
            plan.destination,
        )

    def identity(self, definition: JobDefinition) -> Mapping[str, Any]:
        return {"arguments": definition.document["arguments"]}

    def check(self, definition: JobDefinition) -> list[Problem]:
        return list(self.document_problems)


@dataclass
class Sent:
    """A job that was started: its document, and the bytes of its bundle."""

    document: Mapping[str, Any]
    tar: bytes


@dataclass
class MemoryService(Service):
    """Keeps jobs by name. ``fails`` holds what the next calls of submit raise."""

    jobs: dict[str, Sent] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    states: dict[str, JobStatus] = field(default_factory=dict)
    answers: list[Problem] = field(default_factory=list)
    fails: list[Exception] = field(default_factory=list)
    resolved: int = 0

    def resolve(self, plan: Plan) -> core.Account:
        self.resolved += 1
        assert isinstance(plan, MemoryPlan)
        return Account("mine") if plan.account.bucket == UNKNOWN else plan.account

    def preflight(self, definition: JobDefinition) -> list[Problem]:
        return self.answers

    def submit(self, definition: JobDefinition, bundle: SourceBundle) -> JobHandle:
        if self.fails:
            raise self.fails.pop(0)
        stream = io.BytesIO()
        bundle.write_tar(stream)
        self.jobs[definition.name] = Sent(json.loads(definition.text), stream.getvalue())
        self.names.add(definition.name)
        return JobHandle("memory", definition.name, {"id": len(self.jobs)})

    def describe(self, handle: JobHandle) -> JobStatus:
        return self.states.get(handle.name, JobStatus(PENDING))

    def logs(
        self, handle: JobHandle, since: float = 0.0, follow: bool = False, rank: int | None = None
    ) -> Iterator[LogLine]:
        return iter(())

    def cancel(self, handle: JobHandle) -> None:
        return None

    def name_exists(self, plan: Plan, name: str) -> bool:
        return name in self.names


def memory_provider(paid: bool = True, sends_source: bool = True) -> Provider:
    """A provider of its own, with a service that nobody else sees."""
    definer = MemoryDefiner(sends_source)
    made = Provider("memory", "this process", paid, definer, "tests.core.in_memory:MemoryService")
    vars(made)["service"] = MemoryService()
    return made


def script(folder: Path, text: str = "import horovod.torch as hvd\nhvd.init()\n") -> Path:
    """A training script in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "train.py"
    path.write_text(text)
    return path

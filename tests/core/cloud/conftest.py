"""A cloud in memory, an intent of the ledger, and a clock that nobody waits for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from launchers.core.cloud import errors, following, judging, sending
from launchers.core.model.jobs import JobDefinition, JobHandle, JobStatus, Listener
from launchers.core.records import ledger as ledgers
from launchers.core.records.entry import INTENT, Entry
from launchers.core.records.ledger import Ledger
from tests.core.cloud.memory import Clock, MemoryCloud, MemoryJob, MemoryService, StoredJob

NAME = "train-01234567-1"


@dataclass
class Here(Listener):
    """All that a test of a cloud needs."""

    clock: Clock
    cloud: MemoryCloud
    ledger: Ledger
    told: list[str] = field(default_factory=list)
    definition: JobDefinition = JobDefinition("memory", NAME, 2, '{"a": 1}\n', {"a": 1})  # noqa: RUF009

    def say(self, text: str) -> None:
        self.told.append(text)

    @property
    def service(self) -> MemoryService:
        """What is tried."""
        return MemoryService(self.cloud, self)

    @property
    def handle(self) -> JobHandle:
        """The job's."""
        return JobHandle("memory", NAME, {"region": "r"})

    @property
    def job(self) -> MemoryJob:
        """The job, nothing read of it."""
        return MemoryJob(self.cloud, self.handle)

    @property
    def entry(self) -> Entry:
        """What the ledger says of the job."""
        found = self.ledger.get("memory", NAME)
        assert found is not None
        return found

    def intend(self, **more: Any) -> Entry:
        """The ledger holds the intent."""
        settings: dict[str, Any] = {"state": INTENT, "created": self.clock.now, **more}
        base = NAME.rpartition("-")[0]
        settings.setdefault("details", {"region": "r"})
        self.ledger.add(Entry(NAME, "memory", base, 1, 2, self.definition.text, **settings))
        return self.entry

    def running(self, *lines: str) -> StoredJob:
        """The job was submitted and runs."""
        self.intend(state="running")
        job = StoredJob(self.definition.text, self.clock.now)
        self.cloud.jobs[NAME] = job
        job.end("running", self.clock.now, *lines)
        job.ended_at = None
        return job

    def submit(self) -> JobHandle:
        """Send it once; the bundle's bytes are the store's business."""
        return self.service.submit(self.definition, None)  # type: ignore[arg-type]

    def describe(self) -> JobStatus:
        """Where it stands."""
        return self.service.describe(self.handle)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    monkeypatch.setenv("LAUNCH_POLL_SECONDS", "3")
    clock = Clock()
    for module in (errors, following, judging, sending, ledgers):
        monkeypatch.setattr(module, "time", clock)
    return Here(clock, MemoryCloud(clock), Ledger())

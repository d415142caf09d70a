"""What the tests of submissions to Vertex AI share: the service, a project, the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from launchers.core.records.entry import Entry
from launchers.vertex.service.session import Session, session_for
from tests.cli.command import Launch
from tests.fakes.faults import Refuse
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.google_wire import TOO_MANY_REQUESTS, refused
from tests.fakes.job_scenarios import BY_HAND
from tests.fakes.vertex_service import LOCATION, VertexService
from tests.submitting import SCRIPT, CloudBench

PROOF = "[host-1/0] launch: proof: world size 8: 2 hosts x 4 ranks, Gloo"
CHIEF = "workerpool0-0"
GPUS = "custom_model_training_nvidia_l4_gpus"


class Bench(CloudBench[VertexService]):
    """A service, a project, and the command in it."""

    CHECK, LOOK, STORE = "tags.get", "objects.get", "objects.insert"
    CREATE, GET, CANCEL = "customJobs.create", "customJobs.get", "customJobs.cancel"
    READ_LOG = READ_LINES = SEARCH = "entries.list"
    SIGN_IN, DENIED = "GOOGLE_APPLICATION_CREDENTIALS", "aiplatform.customJobs.get"
    QUOTA, AT_WORK, NO_MACHINE = GPUS, "running", "nothing-standard-1"
    SUCCESS, SECOND_HOST = "succeeded", "host-2"
    REGION = LOCATION

    @property
    def google(self) -> VertexService:
        """The service."""
        return self.service

    @property
    def image(self) -> str:
        """An image that is in the project's registry."""
        return f"{LOCATION}-docker.pkg.dev/{self.google.account.project}/ranks/horovod:1"

    def words(self, *more: str) -> tuple[str, ...]:
        """The command line of a job of 2 hosts with 4 GPUs."""
        return (
            "vertex",
            "train.py",
            "--instances",
            "2",
            "--gpus",
            "4",
            "--image",
            self.image,
            *more,
        )

    def words_of_another_identity(self) -> tuple[str, ...]:
        account = self.google.account.add_service_account("runner").email
        return self.words("--service-account", account)

    def hold(self) -> None:
        self.google.jobs.scenario = proven_job(paces={"RUNNING": BY_HAND})

    def hold_before_the_start(self) -> None:
        self.google.jobs.scenario = proven_job(pace=BY_HAND)

    def let_go(self) -> None:
        self.google.jobs.scenario = proven_job()

    def fail(self, reason: str, seed: str = "") -> None:
        def how(document: Mapping[str, Any]) -> VertexScenario:
            if seed and self.seed_of(document) != seed:
                return proven_job()
            return VertexScenario(outcome="FAILED", reason=reason)

        self.google.jobs.scenario = how

    def prove_each(
        self, lines: Callable[[int], list[str]], failing: int = 0, hold: bool = False
    ) -> None:
        def how(document: Mapping[str, Any]) -> VertexScenario:
            pools = document["jobSpec"]["workerPoolSpecs"]
            variables = {one["name"]: one["value"] for one in pools[0]["containerSpec"]["env"]}
            size, hosts = (int(variables[f"LAUNCH_{one}"]) for one in ("WORLD_SIZE", "INSTANCES"))
            if size == failing:
                return VertexScenario(outcome="FAILED", reason="it broke")
            shape = f"{hosts} host{'s' * (hosts > 1)} x {size // hosts} ranks"
            proof = f"launch: proof: world size {size}: {shape}, Gloo"
            texts = [f"[host-1/0] {text}" for text in (proof, *lines(size))]
            return VertexScenario(lines={CHIEF: texts}, paces={"RUNNING": BY_HAND} if hold else {})

        self.google.jobs.scenario = how

    def print_lines(self, lines: Mapping[int, list[str]], failed: str = "") -> None:
        end = {"outcome": "FAILED", "reason": failed} if failed else {}
        self.google.jobs.scenario = VertexScenario(lines=_by_agents(lines), **end)

    def train(self, lines: Mapping[int, list[str]]) -> None:
        paces = {"RUNNING": BY_HAND}
        self.google.jobs.scenario = VertexScenario(lines=_by_agents(lines), paces=paces)

    def run(self, name: str) -> None:
        self.google.jobs.run_to(name, "RUNNING")

    def finish(self, name: str) -> None:
        self.google.jobs.run_to(name, "SUCCEEDED")

    def is_stopped(self, job: Any) -> bool:
        return job.state in ("CANCELLING", "CANCELLED")

    def is_known_as(self, job: Any, entry: Entry) -> bool:
        return bool(entry.details["resource"].endswith(job.id))

    def seed_of(self, document: Mapping[str, Any]) -> str:
        pool = document["jobSpec"]["workerPoolSpecs"][0]
        _, flag, seed = json.loads(pool["containerSpec"]["args"][2])
        assert flag == "--seed"
        return str(seed)

    def word_for(self, job: Any) -> str:
        return f"vertex:{job.id}"

    def has_checkpoints_of(self, job: Any, name: str) -> bool:
        return f"/gcs/{self.google.bucket}/launch/checkpoints/{name}" in json.dumps(job.document)

    def expire(self) -> None:
        """No token is good any more, and no new one is given out."""
        self.google.tokens.refusal = ("invalid_grant", "Invalid JWT Signature.")
        self.google.tokens.expire()

    def renew(self) -> None:
        self.google.tokens.refusal = None

    def deny_logs(self) -> Callable[[], None]:
        self.google.account.deny("logging.logEntries.list")
        return self.google.account.caller.denied.clear

    def deny_get(self) -> None:
        self.google.account.deny("aiplatform.customJobs.get")

    def deny_finding(self) -> Callable[[], object]:
        """The list before the create is answered, the one after it is not."""
        permission = "aiplatform.customJobs.list"
        error = refused("PERMISSION_DENIED", f"Permission '{permission}' denied")
        fault = self.google.faults.add(Refuse(error), "customJobs.list", after=1)
        return lambda: self.google.faults.remove(fault)

    def deny_storing(self) -> Callable[[], object]:
        error = refused("PERMISSION_DENIED", "no storage.objects.create access")
        fault = self.google.faults.add(Refuse(error), "objects.insert")
        return lambda: self.google.faults.remove(fault)

    def shrink_quota(self) -> None:
        self.google.account.quotas[GPUS, LOCATION] = 0

    def throttle(self) -> None:
        self.google.faults.add(Refuse(TOO_MANY_REQUESTS), "aiplatform", every=2)

    def limit_requests(self) -> None:
        self.google.faults.limit(20, "aiplatform", burst=20, error=TOO_MANY_REQUESTS)

    def check_the_bundles_of_a_sweep(self) -> None:
        """One bundle for all of them."""
        assert len(self.google.received("objects.insert")) <= 16
        assert len(self.google.objects.keys(f"gs://{self.google.bucket}/launch/code/")) == 1

    def own_secrets(self) -> list[str]:
        """The key's lines, and every token."""
        key = json.loads(self.google.credentials_file.read_text())["private_key"].splitlines()[1:-1]
        tokens = [one.headers["Authorization"] or "" for one in self.google.requests]
        given = {token.removeprefix("Bearer ") for token in tokens if token}
        assert given
        return [*key[:-1], *given]

    def secret_reference(self, value: str) -> str:
        return str(self.google.account.add_secret("wandb", value))


def _by_agents(lines: Mapping[int, list[str]]) -> dict[str, list[str]]:
    """Each in its replica's, behind the agent's tag."""
    texts: dict[str, list[str]] = {CHIEF: [], "workerpool1-0": []}
    for rank, printed in lines.items():
        host = rank // 4
        name = list(texts)[host]
        texts[name] += [f"[host-{host + 1}/{rank}] {text}" for text in printed]
    return texts


def bench(launch: Launch) -> Iterator[Bench]:
    """For a fixture: the service is closed afterwards."""
    (launch.folder / "train.py").write_text(SCRIPT)
    with VertexService() as google:
        google.account.add_image(LOCATION, "ranks", "horovod", "sha256:" + "0" * 64, "1")
        google.jobs.scenario = proven_job()
        yield Bench(google, launch)


def session_of(google: VertexService, monkeypatch: pytest.MonkeyPatch) -> Session:
    """The product's own session in this process, which leads to the service."""
    for name, value in google.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LAUNCH_POLL_SECONDS", "0.05")
    # Another test's sessions lead to a service that is closed.
    session_for.cache_clear()
    return Session(google.account.project, LOCATION)


def proven_job(*lines: str, **how: Any) -> VertexScenario:
    """A job of world size 8 that proves itself and prints ``lines``."""
    return VertexScenario(lines={CHIEF: [PROOF, *lines]}, **how)

"""What the tests of submissions share on every cloud: a service, a project, and the command."""

from __future__ import annotations

import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from launchers.core.records.entry import Entry
from tests.cli.command import Answer, Launch
from tests.places import ROOT

SCRIPT = "import horovod.tensorflow as hvd\nhvd.init()\n"


class Reachable(Protocol):
    """A service on loopback."""

    jobs: Any
    faults: Any
    objects: Any

    @property
    def bucket(self) -> str:
        """The project's."""

    def received(self, operation: str) -> list[Any]:
        """The requests of an operation."""

    def environment(self) -> dict[str, str]:
        """The variables that lead a client there."""


Service = TypeVar("Service", bound=Reachable)


@dataclass(frozen=True)
class CloudBench(ABC, Generic[Service]):
    """A service, a project, and the command in it. A provider says what a job's command is, how
    its service names things, and how a job there is made to wait, to fail or to end.

    Attributes:
        CHECK: A request of the preflight; then, in the order of a submission: LOOK asks the store,
            STORE fills it, CREATE sends the job. GET and CANCEL are about the job, READ_LOG is the
            first request of its log, READ_LINES one for its lines, SEARCH the one for its end.
        SIGN_IN: What a message about expired credentials names.
        DENIED: What one about a job that may not be asked for names.
        QUOTA: What one about a quota names.
        AT_WORK: How a training job is called.
        NO_MACHINE: A machine type that there is not.
        SUCCESS: What the service calls a job that succeeded.
        SECOND_HOST: The name of the host of ranks 4 to 7.
        REGION: Where jobs run.
    """

    service: Service
    launch: Launch

    CHECK: ClassVar[str]
    LOOK: ClassVar[str]
    STORE: ClassVar[str]
    CREATE: ClassVar[str]
    GET: ClassVar[str]
    CANCEL: ClassVar[str]
    READ_LOG: ClassVar[str]
    READ_LINES: ClassVar[str]
    SEARCH: ClassVar[str]
    SIGN_IN: ClassVar[str]
    DENIED: ClassVar[str]
    QUOTA: ClassVar[str]
    AT_WORK: ClassVar[str]
    NO_MACHINE: ClassVar[str]
    SUCCESS: ClassVar[str]
    SECOND_HOST: ClassVar[str]
    REGION: ClassVar[str]

    @property
    def jobs(self) -> Any:
        """The service's jobs."""
        return self.service.jobs

    @abstractmethod
    def words(self, *more: str) -> tuple[str, ...]:
        """The command line of a job of 2 hosts with 4 GPUs."""

    @abstractmethod
    def words_of_another_identity(self) -> tuple[str, ...]:
        """The same job under another role or account."""

    @abstractmethod
    def hold(self) -> None:
        """The next jobs prove themselves, and train until somebody ends them."""

    @abstractmethod
    def hold_before_the_start(self) -> None:
        """The next jobs stay where they are."""

    @abstractmethod
    def let_go(self) -> None:
        """The next jobs prove themselves and succeed."""

    @abstractmethod
    def fail(self, reason: str, seed: str = "") -> None:
        """The next jobs fail; with a seed, only that of ``--seed SEED``."""

    @abstractmethod
    def prove_each(
        self, lines: Callable[[int], list[str]], failing: int = 0, hold: bool = False
    ) -> None:
        """The next jobs prove the size that each has, and rank 0 prints the ``lines`` of that world
        size; those of ``failing`` ranks fail since "it broke". With ``hold`` they train until
        somebody ends them."""

    @abstractmethod
    def print_lines(self, lines: Mapping[int, list[str]], failed: str = "") -> None:
        """The next jobs print these lines of their ranks, and succeed or fail for that reason."""

    @abstractmethod
    def train(self, lines: Mapping[int, list[str]]) -> None:
        """The next jobs print these lines of their ranks, and train until somebody ends them."""

    @abstractmethod
    def run(self, name: str) -> None:
        """The job is in its training."""

    @abstractmethod
    def finish(self, name: str) -> None:
        """The job ends by itself."""

    @abstractmethod
    def is_stopped(self, job: Any) -> bool:
        """Whether the job has stopped or is about to."""

    @abstractmethod
    def is_known_as(self, job: Any, entry: Entry) -> bool:
        """Whether the ledger has all that finds the job again."""

    @abstractmethod
    def seed_of(self, document: Mapping[str, Any]) -> str:
        """What follows ``--seed`` in a job's arguments."""

    @abstractmethod
    def word_for(self, job: Any) -> str:
        """What finds the job without a ledger."""

    @abstractmethod
    def has_checkpoints_of(self, job: Any, name: str) -> bool:
        """Whether the job's checkpoints lie in the folder of that job."""

    @abstractmethod
    def expire(self) -> None:
        """The caller's credentials are no longer good."""

    @abstractmethod
    def renew(self) -> None:
        """There are new ones."""

    @abstractmethod
    def deny_logs(self) -> Callable[[], None]:
        """The logs may not be read; gives what allows it again."""

    @abstractmethod
    def deny_get(self) -> None:
        """The job may not be asked for."""

    @abstractmethod
    def deny_finding(self) -> Callable[[], object]:
        """After the next create the job may not be looked for; gives what allows it again."""

    @abstractmethod
    def deny_storing(self) -> Callable[[], object]:
        """The store takes nothing; gives what allows it again."""

    @abstractmethod
    def shrink_quota(self) -> None:
        """There is no room for a job."""

    @abstractmethod
    def throttle(self) -> None:
        """Every second request is one too many."""

    @abstractmethod
    def limit_requests(self) -> None:
        """The service takes 20 requests a second, and any number of jobs."""

    @abstractmethod
    def own_secrets(self) -> list[str]:
        """What the caller's credentials are made of."""

    @abstractmethod
    def secret_reference(self, value: str) -> str:
        """A reference to a secret of that value."""

    def check_the_bundles_of_a_sweep(self) -> None:
        """What a sweep has stored."""

    def environment(self, **more: str) -> dict[str, str]:
        """The variables that lead to the service, and quick looks at the job."""
        return {**self.service.environment(), "LAUNCH_POLL_SECONDS": "0.05", **more}

    def submit(self, *more: str, **environment: str) -> Answer:
        """Submit and follow."""
        return self.launch(*self.words(*more), **self.environment(**environment))

    def ask(self, *words: str, **environment: str) -> Answer:
        """Any other command."""
        return self.launch(*words, **self.environment(**environment))

    def sweep(self, text: str, *words: str, **environment: str) -> Answer:
        """Submit the jobs of a sweep.yaml."""
        (self.launch.folder / "sweep.yaml").write_text(text)
        return self.submit("-f", "sweep.yaml", *words, **environment)


AnyBench = CloudBench[Any]


@contextmanager
def children(
    module: str, launch: Launch, environment: Mapping[str, str], *words: str
) -> Iterator[subprocess.Popen[str]]:
    """The process that forks a submission a line (:mod:`tests.submit_children`)."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words, str(launch.folder / "train.py")],
        cwd=ROOT,
        env=launch.environment(environment),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.communicate()


def contents(folder: Path) -> Iterator[bytes]:
    """Every file below ``folder``."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()

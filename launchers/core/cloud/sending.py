"""A job's request is sent until it is known that the job exists, and the job is created once.

What an answer means is the cloud's knowledge; when to ask, to send and to give up is decided here.
After a lost connection, a timeout or a 5xx the service is asked for the job before anything is
sent again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.cloud.job import CloudJob, Request
from launchers.core.model.problems import (
    EXIT_PROVIDER,
    InDoubtError,
    LaunchError,
    NameTakenError,
    Problem,
)
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.records.lock import process_lock


@dataclass(frozen=True)
class RetryBudget:
    """How long a submission goes on against a service that gives no good answer, in seconds."""

    first: float = 0.5
    longest: float = 10.0
    total: float = 300.0


BUDGET = RetryBudget()


def send_once(
    job: CloudJob,
    request: Request,
    may_be_sent: bool,
    before_send: Callable[[], None] = lambda: None,
    tell: Callable[[str], None] = lambda text: None,
    budget: RetryBudget = BUDGET,
) -> Mapping[str, str]:
    """See that the job exists, once; what finds it again, beside its name. May block; safe to
    repeat.

    Args:
        may_be_sent: Whether an earlier attempt may have been sent.
        before_send: Called once before the first send: keeps in the ledger that there was one.
        tell: Takes a line for a person where it has to wait.

    Raises:
        LaunchError: The service refused the request.
        NameTakenError: Another job has its name.
        InDoubtError: It is not known whether the job was taken.
    """
    cloud, what = job.cloud, f"{job.service}, {job.handle.name}"
    wait, deadline = budget.first, time.monotonic() + budget.total
    in_doubt, asks = may_be_sent, may_be_sent or job.asks_first
    while True:
        try:
            sends = False
            if asks:
                found = job.find(request, in_doubt)
                if found is not None:
                    return found
                asks = False
            if not may_be_sent:
                before_send()
                may_be_sent = True
            sends = True
            return job.create(request)
        except cloud.errors as error:
            taken = job.is_name_taken(error)
            if taken and not in_doubt:
                raise job.name_conflict() from None
            if not taken and not cloud.is_passing(error):
                if in_doubt and (not sends or cloud.is_expired(error)):
                    # Who may not ask for the job does not know that there is none.
                    raise _doubt(job, error) from None
                raise cloud.refused(error, what, job.advice(error)) from None
            # A throttled request was not done; of any other that was sent the answer is open.
            in_doubt = in_doubt or (sends and not cloud.is_throttled(error))
            asks = asks or in_doubt
            if time.monotonic() + wait > deadline:
                raise _doubt(job, error) from None
            if wait > 4 * budget.first:
                message = cloud.message_of(error)[:120]
                tell(f"{job.service} does not answer properly ({message}): trying again")
        time.sleep(wait)
        wait = min(2 * wait, budget.longest)


class Intent:
    """The ledger's entry of a job that is about to be sent.

    Attributes:
        begun: When the intent was written, in seconds since the epoch; a job that is older is
            somebody else's.
        details: What is kept of the job.
    """

    def __init__(self, ledger: Ledger, entry: Entry):
        self._ledger, self._entry = ledger, entry
        self.begun = entry.created
        self.details: dict[str, Any] = dict(entry.details)

    @property
    def may_be_sent(self) -> bool:
        """Whether an earlier attempt may have sent the request."""
        return "sent" in self.details

    def note(self, **details: Any) -> None:
        """Keep what is known of the job now."""
        self.details.update(details)
        self._ledger.update(self._entry, details=self.details)

    def note_sent(self) -> None:
        """Keep that the request goes out now."""
        self.note(sent=time.time())

    @contextmanager
    def before_the_request(self) -> Iterator[None]:
        """Whatever is refused before the request itself does not end a job that an earlier
        attempt may have sent.

        Raises:
            InDoubtError: It was refused, and there may be such a job.
        """
        try:
            yield
        except LaunchError as error:
            if not self.may_be_sent:
                raise
            raise InDoubtError(error.problems, error.exit_code) from None


@contextmanager
def intended(provider: str, name: str, tell: Callable[[str], None]) -> Iterator[Intent]:
    """The intent of a job, held by one launcher at a time. Blocks while another one sends it.

    Raises:
        LaunchError: Another launcher has ended it meanwhile.
    """

    def waits() -> None:
        tell(f"another launcher is sending {name}: waiting for it")

    with process_lock(f"{provider}-{name}", waits):
        ledger = Ledger()
        entry = ledger.get(provider, name)
        if entry is None or entry.final:
            raise LaunchError(_ended_meanwhile(name, entry))
        yield Intent(ledger, entry)


def name_conflict(service: str, name: str, origin: str, word: str, region: str) -> NameTakenError:
    """Somebody else's job has the name: nothing is adopted, and there are two things to do.

    Args:
        origin: When it was created and by whom.
        word: What `launch logs` finds it by.
    """
    return NameTakenError(
        RULES["name-taken"].at(
            f"{service}, {name}",
            f"the name is taken: {origin}",
            fix=f"to follow that job: launch logs {word} --region {region} --follow; to run "
            "another: the same command with --again",
        ),
        EXIT_PROVIDER,
    )


def is_subset(found: Any, wanted: Any) -> bool:
    """Whether the service's description holds what was sent; it may add defaults of its own."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and is_subset(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(map(is_subset, found, wanted))
        )
    return bool(found == wanted)


def _doubt(job: CloudJob, error: Exception) -> InDoubtError:
    return InDoubtError(
        RULES["in-doubt"].at(
            f"{job.service}, {job.handle.name}", f"no usable answer: {job.cloud.message_of(error)}"
        ),
        EXIT_PROVIDER,
    )


def _ended_meanwhile(name: str, entry: Entry | None) -> Problem:
    found = f"it {entry.state}: {entry.reason}" if entry else "it was given up"
    return RULES["intent-ended"].at(
        name, f"another launcher has tried to send it meanwhile; {found}"
    )

"""A cloud's interface as a launcher meets it: what its errors mean, and calls that are repeated
until there is an answer that counts."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

from launchers.core.catalogue import RULES
from launchers.core.model.problems import (
    EXIT_PREFLIGHT,
    EXIT_PROVIDER,
    CredentialsError,
    LaunchError,
    PassingError,
    Problem,
)

Answer = TypeVar("Answer")

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0
_ATTEMPTS = 5


class Cloud(ABC):
    """What the errors of one cloud's client mean.

    Attributes:
        title: ``AWS``, ``Google Cloud``.
        errors: Everything that a call may raise: an answer that is an error, or no answer.
        sign_in: How to get credentials where there are none.
        attempts: How often a call that only reads is made at the most.
    """

    title: ClassVar[str]
    sign_in: ClassVar[str]
    errors: ClassVar[tuple[type[Exception], ...]]
    attempts = _ATTEMPTS

    @abstractmethod
    def message_of(self, error: Exception) -> str:
        """One line for a person."""

    @abstractmethod
    def is_expired(self, error: Exception) -> bool:
        """Whether it is the caller's credentials that are missing or no longer good."""

    @abstractmethod
    def is_denied(self, error: Exception) -> bool:
        """Whether the caller may not ask."""

    @abstractmethod
    def is_throttled(self, error: Exception) -> bool:
        """Whether the service wants fewer requests; the request was not done."""

    @abstractmethod
    def is_passing(self, error: Exception) -> bool:
        """Whether the same request may well do later: no answer, a 5xx, or too many requests."""

    @abstractmethod
    def renew(self) -> None:
        """Forget credentials and clients, so that the next call reads the credentials again."""

    @abstractmethod
    def how_to_renew(self) -> str:
        """What to do about credentials that have expired, by where they came from."""

    def credentials_problem(self, error: Exception) -> Problem:
        """The caller has no good credentials."""
        where = f"{self.title} credentials"
        return RULES["cloud-credentials"].at(where, self.message_of(error), fix=self.sign_in)

    def refused(self, error: Exception, what: str, fix: str = "") -> LaunchError:
        """The error for a person: the provider answered with one (exit code 5), or the caller has
        no good credentials (exit code 4)."""
        if self.is_expired(error):
            return CredentialsError(self.credentials_problem(error), EXIT_PREFLIGHT)
        kind = PassingError if self.is_passing(error) else LaunchError
        problem = RULES["cloud-refused"].at(what, self.message_of(error), fix=fix)
        return kind(problem, EXIT_PROVIDER)


class RetryingCaller:
    """Calls that only read, repeated until there is an answer that counts.

    Throttling, a lost connection and a 5xx are waited out, longer each time; expired credentials
    until new ones are there, and it says what to renew.

    Args:
        tell: Takes a line for a person where it has to wait.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        cloud: Cloud,
        tell: Callable[[str], None] = lambda text: None,
        sleep: Callable[[float], None] | None = None,
    ):
        self._cloud, self._tell, self._sleep = cloud, tell, sleep or time.sleep

    def call(self, ask: Callable[[], Answer]) -> Answer:
        """What ``ask`` gives; it is called anew for each attempt, with the clients of then.

        Raises:
            Exception: One of the cloud's errors: the service refused the request itself.
        """
        cloud, wait, told = self._cloud, _FIRST_WAIT, ""
        while True:
            try:
                answer = ask()
            except cloud.errors as error:
                if not cloud.is_passing(error) and not cloud.is_expired(error):
                    raise
                told = self._explain(error, told, wait)
            else:
                if told:
                    self._tell(f"{cloud.title} answers again")
                return answer
            self._sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _explain(self, error: Exception, told: str, wait: float) -> str:
        """Say once why it waits; gives what has been said."""
        cloud = self._cloud
        message = cloud.message_of(error)[:120]
        if cloud.is_expired(error):
            if told != "expired":
                self._tell(
                    f"the {cloud.title} credentials are no longer valid ({message}); the job "
                    f"keeps running, and this command waits: {cloud.how_to_renew()}"
                )
            cloud.renew()
            return "expired"
        # A short one is everyday life.
        if told or wait < 4:
            return told
        why = "wants fewer requests" if cloud.is_throttled(error) else "does not answer"
        self._tell(
            f"{cloud.title} {why} ({message}); the job keeps running, and this command waits"
        )
        return "passing"


def with_retries(cloud: Cloud, ask: Callable[[], Answer], wait: float = _FIRST_WAIT) -> Answer:
    """What ``ask`` gives, a few times over where the error may pass. For a client that does not
    repeat by itself, and for calls that only read.

    Raises:
        Exception: One of the cloud's errors.
    """
    for attempt in range(1, cloud.attempts):
        try:
            return ask()
        except cloud.errors as error:
            if not cloud.is_passing(error):
                raise
            time.sleep(wait * 2 ** (attempt - 1))
    return ask()

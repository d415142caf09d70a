"""What was claimed to have failed, and which of it the job ends because of. No clock."""

from __future__ import annotations

from typing import Callable

from launch_runtime.failures import TRAINING, Failure

# How long a failure that looks like the consequence of another one waits for that other one.
CONSEQUENCE_SECONDS = 1.5
_NO_CAUSE = "a rank ended before the others, or two hosts cannot reach each other"


class Claims:
    """The failures that were claimed, in their order.

    Args:
        several: Whether there are others whose end may be a failure's cause.
    """

    def __init__(self, several: bool):
        self._several = several
        self._claims: list[tuple[float, Failure]] = []

    def __bool__(self) -> bool:
        return bool(self._claims)

    @property
    def since(self) -> float:
        """When the first one was claimed; there is one."""
        return self._claims[0][0]

    def add(self, failure: Failure, now: float) -> None:
        """One more; one that is known already changes nothing."""
        if all(failure != other for _, other in self._claims):
            self._claims.append((now, failure))

    def verdict(self, now: float, lost: Callable[[float], Failure | None]) -> Failure | None:
        """Why the job ends: the first claim that is no other one's consequence. Where all are, and
        some time has passed, whoever has fallen silent since, else the first.

        Args:
            now: Monotonic seconds.
            lost: Gives the failure of whoever is silent since the first claim.
        """
        cause = next((claim for _, claim in self._claims if not claim.consequence), None)
        if cause or not self._claims or now - self.since < CONSEQUENCE_SECONDS:
            return cause
        first, silent = self._claims[0][1], lost(now)
        if silent:
            return silent._replace(reason=f"{silent.reason}; then {first.reason:.150}")
        if not self._several or first.signal or first.phase != TRAINING:
            return first
        return first._replace(reason=f"{_NO_CAUSE}: {first.reason}")

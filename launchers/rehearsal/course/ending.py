"""Which container's end is the job's end. Pure: it takes what happened, and when."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from launchers.rehearsal.engine.output import Exit

# 128 + number, as shells and engines give it; what the service's tools leave with by themselves
# (1, 2, 126, 127) stays a plain code.
_SIGNAL_BASE = 128


@dataclass(frozen=True)
class Ending:
    """How the containers ended.

    Attributes:
        container: Whose end decided.
        code: Its exit code; None where it never ran or is gone.
        fault: What went wrong, one line; empty where the leader ended well.
    """

    container: str
    code: int | None
    fault: str = ""

    @property
    def well(self) -> bool:
        """Whether the leader ended with 0."""
        return not self.fault


class EndRules:
    """When a job is over: the leader's exit is the job's. Before it, a container that ends with
    another code than 0 ends the job, at once or where the leader has not ended in time, and one
    that ends with 0 is how a good job's workers end, if the leader follows in time.

    Args:
        leader: Its name.
        follow_within: Seconds in which it has to follow a container that ended well.
        leader_decides: Seconds in which its own end is waited for after a bad one.
        restarts: What the service does with a container that ended badly, if it is not the end.
    """

    def __init__(
        self,
        leader: str,
        follow_within: float,
        leader_decides: float = 0.0,
        restarts: str = "",
    ):
        self._leader = leader
        self._follow_within = follow_within
        self._leader_decides = leader_decides
        self._restarts = restarts
        self._early: tuple[str, float] | None = None  # the first that ended well, and when
        self._bad: tuple[Exit, float] | None = None  # the first that ended badly, and when

    def exited(self, exit_: Exit, now: float) -> Ending | None:
        """Take a container's end into account; the job's end if it is that.

        Args:
            now: Seconds on any clock that only moves forward.
        """
        if exit_.container == self._leader:
            return Ending(exit_.container, exit_.code, self._fault_of_leader(exit_))
        if exit_.code != 0 and not self._leader_decides:
            return Ending(exit_.container, exit_.code, described(exit_))
        if exit_.code != 0:
            self._bad = self._bad or (exit_, now)
            return None
        if self._early is None:
            self._early = (exit_.container, now)
        return None

    def overdue(self, now: float) -> Ending | None:
        """The end that comes of waiting: a container ended, and the leader did not follow."""
        if self._bad is not None and now - self._bad[1] >= self._leader_decides:
            bad = self._bad[0]
            then = f", and {self._restarts}" if self._restarts else ""
            return Ending(bad.container, bad.code, described(bad) + then)
        if self._early is None or now - self._early[1] < self._follow_within:
            return None
        container, _ = self._early
        seconds = f"{self._follow_within:.0f} s"
        return Ending(
            container,
            0,
            f"{container} ended with code 0, and {self._leader} has not followed in {seconds}",
        )

    def _fault_of_leader(self, exit_: Exit) -> str:
        if exit_.code != 0:
            return described(exit_)
        if self._bad is None:
            return ""
        return f"{described(self._bad[0])}, and {self._leader} with code 0 all the same"


def described(exit_: Exit) -> str:
    """A bad end in one line: ``worker-2 ended with code 3``, or ``... code 137 (SIGKILL)``."""
    name = exit_.container
    if exit_.error:
        return f"{name}: {exit_.error}"
    if exit_.out_of_memory:
        return f"{name} reached its memory limit, and the kernel ended it (code {exit_.code})"
    return f"{name} ended with code {exit_.code}{_signal(exit_.code)}"


def _signal(code: int | None) -> str:
    """`` (SIGKILL)`` for 137, whether the container was killed or its program says so."""
    try:
        return f" ({signal.Signals((code or 0) - _SIGNAL_BASE).name})"
    except ValueError:
        return ""

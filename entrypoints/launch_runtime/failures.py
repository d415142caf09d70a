"""A failure: what agents tell each other, what is printed, and with which code they leave."""

from __future__ import annotations

import re
import signal
from typing import Any, NamedTuple

from launch_runtime import lines
from launch_runtime.words import HOROVOD, Words

JOINING, STARTING, TRAINING, ENDING = "joining", "starting", "training", "ending"

# A crash with one of these codes makes Vertex AI run the whole job again, up to three times (its
# list: 6, 11, 134, 139). A crash before the ranks have met will only happen again.
TRANSIENT_CODES = (6, 11, 134, 139)
# What an agent leaves with when a host was lost where the service may run the job again.
LOST_HOST_CODE = 6

# What a process says that aborts by a fault of its own, and not since a peer is gone.
# A survivor's NCCL speaks of an "unhandled cuda error".
_OWN_FAULT = re.compile("CUDA error|(?i:out of memory|bad_alloc|assert failed)")


class Failure(NamedTuple):
    """Why the job ends.

    Attributes:
        host: The host it happened on.
        reason: One line.
        phase: joining, starting (before the rank had joined the others), training or ending.
        rank: The global rank, or None where a whole host is meant.
        exit_code: The rank's, 128 + its number for a signal.
        signal: The signal's name where one ended the rank, or ended the job on request.
        consequence: It looks like what a rank meets when another one has failed.
        stop: Not a failure of the job's own: somebody asked an agent to end.
        judged: All ranks ended well, and their evidence says that they did not train together.
        fix: What to change, where that is known.
        code: What every agent leaves with.
    """

    host: str
    reason: str
    phase: str
    rank: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    consequence: bool = False
    stop: bool = False
    judged: bool = False
    fix: str = ""
    code: int = 1

    def line(self, stamp: str = "") -> str:
        """The line ``launch: failure: {...}`` with the job's stamp."""
        fields: dict[str, object] = {
            "rank": self.rank,
            "host": self.host,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "phase": self.phase,
            "reason": lines.one_line(self.reason),
        }
        if self.fix:
            fields["fix"] = lines.one_line(self.fix)
        return lines.failure(fields, stamp)

    def sentence(self) -> str:
        """The same for people."""
        if self.judged:
            return f"the job has failed: {self.reason}"
        where = self.host if self.rank is None else f"rank {self.rank} on {self.host}"
        return f"the job ends because of {where}: {self.reason}"

    def fields(self) -> dict[str, object]:
        """For :func:`from_fields` on another host."""
        return dict(self._asdict())


def from_fields(fields: dict[str, Any]) -> Failure:
    """What :meth:`Failure.fields` gave.

    Raises:
        ValueError: These are no such fields.
    """
    try:
        return Failure(**fields)
    except TypeError as error:
        raise ValueError(str(error)) from error


def of_exit(
    host: str,
    rank: int,
    status: int,
    phase: str,
    world_size: int,
    words: Words = HOROVOD,
    said: str = "",
) -> Failure:
    """A rank that ended by itself.

    Args:
        host: Where it ran.
        rank: Its global rank.
        status: As ``subprocess`` gives it: the exit code, or minus the signal's number.
        phase: How far it had come.
        world_size: Of the job.
        words: The strategy's.
        said: What its process has said of its abort, or "".
    """
    if status == 0:
        return Failure(
            host,
            words.never.format(rank=rank, size=world_size),
            phase=phase,
            rank=rank,
            exit_code=0,
        )
    name = signal_name(-status) if status < 0 else None
    exit_code = 128 - status if status < 0 else status
    reason = f"exited with code {status}"
    if name:
        reason = f"killed by {name}"
    if name == "SIGKILL":
        reason += " (by hand, or by the kernel when memory ran out)"
    # So a rank aborts where a peer goes while they all meet; what raises then is no such end.
    aborts = name == "SIGABRT" and phase in words.abort_phases and not _OWN_FAULT.search(said)
    if aborts:
        reason += words.abort
    if said:
        reason += f": {said}"
    return Failure(
        host,
        f"rank {rank} {reason}",
        phase=phase,
        rank=rank,
        exit_code=exit_code,
        signal=name,
        consequence=aborts,
        code=leaving_code(exit_code, phase),
    )


def leaving_code(exit_code: int, phase: str) -> int:
    """What agents leave with for a rank that ended with ``exit_code`` in ``phase``."""
    if exit_code == 0 or (phase == STARTING and exit_code in TRANSIENT_CODES):
        return 1
    return exit_code


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; ``signal 64`` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

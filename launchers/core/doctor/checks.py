"""A doctor's checks, made side by side: the slowest of them is what the whole takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from launchers.core.catalogue import RULES
from launchers.core.model.findings import Finding, finding
from launchers.core.model.problems import LaunchError
from launchers.core.prerequisites import Check
from launchers.core.threads import begun

# Of one request to a service, and how often it is sent.
REQUEST_SECONDS, ATTEMPTS = 5.0, 1
NO_NETWORK, OFFLINE = "no network", "not asked: --offline"
# Clocks that differ by more than the first stop a job; the second is worth a word. Source: AWS,
# "Troubleshoot Signature Version 4 signed requests": a signature is good for 5 minutes.
SKEW_ERROR, SKEW_WARNING = 300.0, 60.0


def findings_of(checks: Sequence[Check]) -> list[Finding]:
    """All findings in the order of ``checks``; see :func:`each_of`."""
    return [one for told in each_of(checks) for one in told]


def each_of(checks: Sequence[Check]) -> list[list[Finding]]:
    """The findings of each check. Blocks for the slowest of them, and for none longer than its
    ``seconds``."""
    found: list[list[Finding] | None] = [None] * len(checks)

    def make(index: int) -> None:
        found[index] = _made(checks[index])

    beginning = time.monotonic()
    threads = [begun(partial(make, index)) for index in range(len(checks))]
    for thread, check in zip(threads, checks, strict=True):
        if thread is not None:
            thread.join(max(0.0, beginning + check.seconds - time.monotonic()))
    return [
        [_no_answer(check, f"no answer in {check.seconds:.0f} s")] if told is None else told
        for check, told in zip(checks, found, strict=True)
    ]


def clock_finding(skew: float | None, whose: str) -> Finding:
    """How far this machine's clock is from a service's.

    Args:
        skew: Seconds that this machine is ahead; below 0 it is behind; None where the service
            did not say.
    """
    if skew is None:
        problem = RULES["clock"].at("clock", f"{whose} is not told", severity="unknown")
        return finding(problem)
    ahead = "ahead of" if skew > 0 else "behind"
    if abs(skew) < SKEW_WARNING:
        return Finding("clock", "ok", f"within a minute of {whose}")
    text = f"{_length(abs(skew))} {ahead} {whose}"
    severity = RULES["clock"].severity if abs(skew) >= SKEW_ERROR else "warning"
    problem = RULES["clock"].at("clock", text, severity=severity)
    return finding(problem, run="sudo timedatectl set-ntp true")


def _made(check: Check) -> list[Finding]:
    try:
        return check.ask()
    except LaunchError as error:
        return [finding(one, exit_code=error.exit_code) for one in error.problems]
    except Exception as error:  # one look that fails hides no other
        return [_no_answer(check, f"{type(error).__name__}: {error}"[:200])]


def _no_answer(check: Check, found: str) -> Finding:
    return finding(RULES["doctor-check"].at(check.name, found, severity="unknown"))


def _length(seconds: float) -> str:
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36000 else f"{seconds / 3600:.0f} h"

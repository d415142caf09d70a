"""The one verdict: did a job succeed? Pure; for clouds, for this machine, for the rehearsal.

A job has succeeded when its provider says so, its output proves the expected world, and nothing
shows that the ranks trained apart. Failed comes before not proven, not proven before succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from launchers.core.model.document import whole_number
from launchers.core.model.jobs import FAILED, NOT_PROVEN, SUCCEEDED
from launchers.core.output.lines import JobWatch, proven
from launchers.core.planning.plan import counted
from launchers.core.records import nonce
from launchers.core.spec.job import EXCHANGE, INIT, PROOF_MODES, STRICT
from launchers.core.strategies import said_by

NO_NONCE = "its document carries no nonce: the verdict rests on the job's own log lines"
# The agent that judged the evidence says so behind the controller; under mpirun we do.
_WITH_WORDS = re.compile(r"world size [^;]+; .+")

# An agent's failure at the job's end that no rank has: what the evidence of all of them says.
_ENDING = "ending"


@dataclass(frozen=True)
class Expected:
    """What a job's output must prove.

    Attributes:
        world_size: Ranks; 0 for a job whose document doesn't say.
        hosts: Hosts; 0 where the document doesn't say.
        mode: What ``--proof`` asks for.
        nonce: The job's, "" for a document without one.
        strategy: By what its ranks train; empty for Horovod, and where the document doesn't say.
    """

    world_size: int
    hosts: int = 0
    mode: str = EXCHANGE
    nonce: str = field(default="", repr=False)
    strategy: str = ""

    @property
    def stamp(self) -> str:
        """What the job's own lines carry; "" where nobody can tell."""
        return nonce.stamp_of(self.nonce)

    def watch(self) -> JobWatch:
        """For the job's lines."""
        return JobWatch(self.stamp, self.world_size)

    def is_met_by(self, proof: str) -> bool:
        """Whether a proof line's text is about this world."""
        return proven(proof, self.world_size, self.hosts)

    def asks_for_evidence(self, proof: str) -> bool:
        """Whether the ranks' own evidence is still to be judged behind that proof."""
        return self.mode != INIT and self.world_size > 1 and not _WITH_WORDS.fullmatch(proof)


def expected_of(environment: Mapping[str, Any]) -> Expected:
    """What the variables of a job's document ask for; they may be wrong or missing."""
    mode = environment.get("LAUNCH_PROOF")
    return Expected(
        whole_number(environment.get("LAUNCH_WORLD_SIZE")) or 0,
        whole_number(environment.get("LAUNCH_INSTANCES")) or 0,
        mode if mode in PROOF_MODES else EXCHANGE,
        str(environment.get(nonce.VARIABLE) or ""),
        said_by(environment),
    )


@dataclass(frozen=True)
class Said:
    """What the provider says of a job that has ended.

    Attributes:
        state: One of the final words of :mod:`launchers.core.model.jobs`.
        reason: Why, in its own words; empty for a success.
        words: How it said success: ``SageMaker says Completed``.
        explained: Whether ``reason`` tells the first failure already.
        hint: What explains that the proof is missing, where something does.
        unreadable: Why the job's lines cannot be read; empty where they can.
    """

    state: str
    reason: str = ""
    words: str = "the service says so"
    explained: bool = False
    hint: str = ""
    unreadable: str = ""


@dataclass(frozen=True)
class Verdict:
    """How a job ended.

    Attributes:
        reason: One line; empty where it succeeded.
        proof: The proof line's text, with the words of the evidence.
        fix: What to change, where that is known.
        missing: Ranks whose evidence has not come in whole; it may be on its way.
    """

    state: str
    reason: str = ""
    proof: str = ""
    fix: str = ""
    missing: tuple[int, ...] = ()


def verdict(
    said: Said,
    watch: JobWatch,
    expected: Expected,
    proof: str = "",
    jobs: Mapping[str, str] | None = None,
) -> Verdict:
    """The state of a job that has ended, why, and what its output proves.

    Args:
        watch: What saw the job's lines (:meth:`Expected.watch`).
        proof: One that was seen before, for a job whose lines cannot be read now.
        jobs: Host -> the proof that came out of it, where each could be a job of its own.
    """
    proof = watch.proof or proof
    if said.state != SUCCEEDED:
        reason, fix = said.reason, ""
        if watch.failure and said.state == FAILED:
            fix = _fix_of(watch.failure)
            if not said.explained:
                reason = _behind(first_failure(watch.failure), _besides(said.reason, watch.failure))
        return Verdict(said.state, reason, proof, fix)
    if watch.failure:
        # A platform may end a container with 0 although a rank has failed.
        reason = f"{first_failure(watch.failure)} ({said.words} all the same)"
        return Verdict(FAILED, reason, proof, _fix_of(watch.failure))
    return _of_success(said, watch, expected, proof, jobs or {})


def _of_success(
    said: Said, watch: JobWatch, expected: Expected, proof: str, jobs: Mapping[str, str]
) -> Verdict:
    """Of a job that its provider calls a success, and in which no rank told a failure."""
    words, failure, fix = "", "", ""
    missing: tuple[int, ...] = ()
    if expected.asks_for_evidence(proof):
        from launchers.core.shipped import runtime

        judge = runtime("evidence.judge").judge
        words, failure, fix, missing = judge(watch.evidence(), expected.world_size, expected.mode)
    # Strict mode's failure for ranks that said nothing is no training apart.
    apart = failure and not (expected.mode == STRICT and words)
    if apart:
        reason = f"{failure} ({said.words}, since every process ended with 0)"
        return Verdict(FAILED, reason, proof, fix, missing)
    unproven = _why_unproven(said, watch, expected, proof, jobs)
    if unproven:
        return Verdict(NOT_PROVEN, unproven, proof, "", missing)
    if failure:
        return Verdict(NOT_PROVEN, f"completed, but {failure}", proof, fix, missing)
    return Verdict(SUCCEEDED, "", _in_words(proof, words, expected), "", missing)


def _in_words(proof: str, words: str, expected: Expected) -> str:
    """The proof as a person reads it: what was exchanged, and what it rests on."""
    text = f"{proof}; {words}" if words else proof
    if expected.nonce in ("", nonce.PLACEHOLDER) and not text.endswith(f"({NO_NONCE})"):
        text += f" ({NO_NONCE})"
    return text


def _why_unproven(
    said: Said, watch: JobWatch, expected: Expected, proof: str, jobs: Mapping[str, str]
) -> str:
    """Empty where the proof is one."""
    if len(jobs) > 1:
        sizes = ", ".join(f"{host}: {text}" for host, text in sorted(jobs.items()))
        return f"completed, but as {counted(len(jobs), 'job')} instead of one ({sizes})"
    if expected.is_met_by(proof):
        return ""
    if said.unreadable:
        return f"completed, but its logs cannot be read, so nothing proves it ({said.unreadable})"
    wanted = f"world size {expected.world_size}"
    if proof:
        hosts = f" on {counted(expected.hosts, 'host')}" if expected.hosts else ""
        return f"completed, but it proved another job: {proof}; expected {wanted}{hosts}"
    hints = [said.hint] if said.hint else []
    if watch.foreign:
        lines = counted(watch.foreign, "proof line")
        hints.append(f"{lines} without this job's stamp counted for nothing")
    return _behind(f"completed, but no line of its output proves {wanted}", "; ".join(hints))


def first_failure(failure: Mapping[str, Any]) -> str:
    """The first ``launch: failure`` in words."""
    rank, host, reason = failure.get("rank"), failure.get("host"), str(failure.get("reason", ""))
    of_the_job = rank is None and (not host or failure.get("phase") == _ENDING)
    if of_the_job:
        return reason
    reason = reason.removeprefix(f"rank {rank} ")  # an agent's own words begin so
    who = f"rank {rank} on {host}" if rank is not None else str(host)
    return f"{who} failed first: {reason}"


def _besides(words: str, failure: Mapping[str, Any]) -> str:
    """What a provider says, unless it quotes the failure's own reason."""
    reason = str(failure.get("reason", ""))
    return "" if reason and reason in words else words


def _fix_of(failure: Mapping[str, Any]) -> str:
    fix = failure.get("fix", "")
    return fix if isinstance(fix, str) else ""


def _behind(text: str, more: str) -> str:
    return f"{text} ({more})" if more else text

"""The ranks' results: counted, judged together, and what the result file says of them."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any, Mapping, Sequence

from launch_runtime import lines
from launch_runtime.failures import ENDING, TRAINING, Failure, from_fields
from launch_runtime.host.judgement import Judgement
from launch_runtime.host.settings import Settings
from launch_runtime.spark.course import Course

FAILED, SUCCEEDED = "failed", "succeeded"
_UNSAID_LINES = 1000  # of all ranks together
_FIX_MISSING = "let the script come to its end, and end no process above its own"


def counted(found: Sequence[Any], settings: Settings, course: Course) -> Failure | None:
    """What is wrong with the results as Horovod has handed them on: there has to be one of each
    rank, of this job, and of a good end.

    Args:
        found: In the order of the ranks; None where a rank left none.
    """
    numbers = [one.get("rank") if isinstance(one, dict) else None for one in found]
    numbers += [None] * (settings.ranks - len(numbers))
    for rank, number in enumerate(numbers):
        if number is None:
            what = f"rank {rank} has ended, and its result is missing"
            return Failure(course.place(rank)[0], what, ENDING, rank=rank, fix=_FIX_MISSING)
    if numbers != list(range(settings.ranks)):
        told = lines.and_list([str(number) for number in numbers])
        what = f"expected one result of each of {settings.ranks} ranks, found those of ranks {told}"
        return Failure("driver", what, ENDING, judged=True)
    for one in found:
        if one.get("stamp") != settings.stamp:
            what = f"rank {one['rank']} gave a result that is not of this job"
            return Failure(str(one.get("host")), what, ENDING, rank=one["rank"])
    return badly_ended(found)


def badly_ended(found: Sequence[Any]) -> Failure | None:
    """The first failure among results."""
    for one in found:
        if one.get("failure"):
            return from_fields(one["failure"])
        if one.get("exit_code") != 0:
            what = f"rank {one['rank']} exited with code {one.get('exit_code')}"
            return Failure(str(one.get("host")), what, TRAINING, one["rank"], one.get("exit_code"))
    return None


def judged(found: Sequence[Mapping[str, Any]], settings: Settings) -> tuple[Failure | None, str]:
    """Whether ranks that all ended well trained together: a failure, or the proof's text.

    Args:
        found: One result of each rank, in their order.
    """
    # Here each rank speaks for itself, as a host of one rank does elsewhere.
    judgement = Judgement(settings._replace(processes=1))
    for rank, one in enumerate(found):
        judgement.take(rank, {rank: one.get("evidence") or []})
    failure = judgement.failure("driver")
    if failure is not None:
        return failure, ""
    proof = str(found[0].get("proof") or "")
    if not proof and settings.world_size == 1:
        # The script ended in a way in which its guard could not say so.
        proof = settings.strategy.words.alone()
    return None, f"{proof}; {judgement.words}" if proof and judgement.words else proof


def exit_code(failure: Failure | None) -> int:
    """What the driver leaves with."""
    if failure is None:
        return 0
    return failure.code if failure.stop else 1


def unsaid(course: Course | None) -> bytes:
    """What ranks wrote after another one's failure: tagged lines, the last ones of each rank, that
    can be told from what led to the failure. The more ranks, the fewer lines of each."""
    results = course.results if course is not None else {}
    ranks = [rank for rank in sorted(results) if results[rank].get("unsaid")]
    found = []
    for rank in ranks:
        last = results[rank]["unsaid"][-max(1, _UNSAID_LINES // len(ranks)) :]
        count = lines.count(len(last), "line")
        told = [lines.message(f"after the failure rank {rank} wrote, last {count}:")]
        told += [f"| {text}" for text in last]
        found += [f"[{results[rank]['host']}/{rank}] {text}\n" for text in told]
    return "".join(found).encode()


class ResultFile:
    """What stands in ``spark.launch.result`` at the end; spark-submit's own exit code is not handed
    on by every cluster.

    Args:
        path: "" for none.
    """

    def __init__(self, path: str):
        self._path = path
        self.fields: dict[str, Any] = {
            "stamp": "",
            "state": FAILED,
            "reason": "",
            "fix": "",
            "proof": "",
            "world_size": 0,
            "slots": None,
            "versions": {},
            "ranks": [],
            "failed_rank": None,
            "last_lines": [],
            "exit_code": 1,
        }

    def has_succeeded(self) -> bool:
        """Whether the file is there already, of this job, and says so."""
        try:
            with open(self._path) as file:
                found = json.load(file)
            return bool((found["stamp"], found["state"]) == (self.fields["stamp"], SUCCEEDED))
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def tell(self, **fields: Any) -> None:
        """Sets some of them."""
        self.fields.update(fields)

    def tell_end(self, failure: Failure | None, proof: str, course: Course | None) -> None:
        """How the job has ended, and what became of each rank."""
        self.tell(
            state=SUCCEEDED if failure is None else FAILED,
            reason=failure.reason if failure else "",
            fix=failure.fix if failure else "",
            proof=proof,
            failed_rank=failure.rank if failure else None,
            exit_code=exit_code(failure),
        )
        if course is None:
            return
        results = course.results
        for rank in range(self.fields["world_size"]):
            host, executor = course.place(rank)
            code = results.get(rank, {}).get("exit_code")
            one = {"rank": rank, "host": host, "executor": executor, "exit_code": code}
            self.fields["ranks"].append(one)
        if failure is not None:
            self.tell(last_lines=course.tail(failure.rank))

    def write(self) -> str:
        """Writes it whole; gives what went wrong, or ""."""
        if not self._path:
            return ""
        beside = f"{self._path}.{os.getpid()}"
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(self.fields, file, indent=2)
            os.replace(beside, self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.remove(beside)
            return f"cannot write the result to {self._path}: {error.strerror}"
        return ""

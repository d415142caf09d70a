"""Whether the whole job hangs, and which rank others wait for: the first host's part.

A job hangs when no rank that still runs has made visible progress for the time that was asked for.
One host sees that of its own ranks (host/stillness.py) and says so in its reports; here it is put
together. No clock and no processes in here.

A hung job's hosts are asked for their ranks' stacks. The rank at fault is the one that is not where
the others wait for each other; where all of them wait, the one with the fewest exchanges or steps.
Where neither tells, no rank is named.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

from launch_runtime import lines
from launch_runtime.failures import TRAINING, Failure
from launch_runtime.host.cluster import Cluster
from launch_runtime.host.settings import END, Settings

PATIENCE_SECONDS = 30.0  # for the stacks of a host whose agent answers all the while
_MOST_NAMED = 3  # ranks whose place is told
_COMPARED = ("exchanges", "steps")  # counts that are the same on ranks that train together

_STATES = {
    "T": "stopped by a signal (state T)",
    "D": "in the kernel (state D), as where a disk or a file system does not answer",
}


class Finding(NamedTuple):
    """Who hangs: its rank, or None where that cannot be told, and what is known, in one line."""

    rank: int | None
    reason: str


class Hangs:
    """Belongs to the coordinator, and is as safe as that.

    Args:
        cluster: The hosts.
        settings: The first host's.
        say: Prints a line for people.

    Attributes:
        asked: How often the hosts were asked for stacks; they answer each number once.
    """

    def __init__(self, cluster: Cluster, settings: Settings, say: Callable[[str], None]):
        self._cluster, self._settings, self._say = cluster, settings, say
        self.asked = 0
        self._asked_at: float | None = None
        self._told = False

    def look(self, reports: Mapping[int, Mapping[str, Any]], now: float) -> Failure | None:
        """Takes all hosts' last reports; a failure where the job is to end for a hang.

        Args:
            reports: Host -> its report.
            now: Monotonic seconds.
        """
        running = {index: one for index, one in reports.items() if not one.get("ended")}
        if not running or not all(one.get("still") for one in running.values()):
            if self._told:
                self._say("the ranks make progress again")
            self._asked_at, self._told = None, False
            return None
        if self._told:
            return None
        if self._asked_at is None:
            self.asked, self._asked_at = self.asked + 1, now
            return None
        answers = [one.get("stacks") or {} for one in running.values()]
        missing = [answer for answer in answers if answer.get("number") != self.asked]
        if missing and now - self._asked_at < PATIENCE_SECONDS:
            return None
        return self._tell(running)

    def _tell(self, running: Mapping[int, Mapping[str, Any]]) -> Failure | None:
        self._told = True
        entries: dict[int, Mapping[str, Any]] = {}
        for one in running.values():
            answer = one.get("stacks") or {}
            if answer.get("number") == self.asked:
                entries.update({int(entry["rank"]): entry for entry in answer["ranks"]})
        found = find(entries, self._settings.ranks, self._settings.hang_after)
        if self._settings.hang_action != END:
            self._say(
                f"warning: {found.reason}; every rank's stack is in the log, and the job goes on "
                "(--hang-action end would end it)"
            )
            return None
        rank = found.rank or 0
        host = self._cluster.hosts[rank // self._settings.processes].name
        return Failure(host, found.reason, TRAINING, rank=found.rank)


def find(entries: Mapping[int, Mapping[str, Any]], ranks: int, after: float) -> Finding:
    """Who hangs, by what is known of the ranks that still run.

    Args:
        entries: Rank -> ``at``, ``waits``, ``beside``, ``state``, ``busy`` (host/stack_file.py) and
            ``counts``, its exchanges and steps by name.
        ranks: Of the job.
        after: Seconds without progress.
    """
    waiting = sorted(rank for rank, one in entries.items() if one["waits"])
    behind = sorted(set(entries) - set(waiting))
    how = ""
    if not behind or (not waiting and len(entries) > 1):
        behind, how = _behind(entries)
    since = f"no progress for {after:g} s"
    if not behind:
        reason = f"the job hung: {since}, and which rank is at fault cannot be told"
        return Finding(None, f"{reason}: {_places(entries, sorted(entries))}")
    places = _places(entries, behind)
    if len(behind) == 1:
        places = places.partition(" ")[2].partition(" ")[2]
    reason = f"{lines.ranks(behind)} hung: {since}, {places}{how}"
    others = [rank for rank in waiting if rank not in behind]
    if others:
        names = lines.and_list(sorted({str(entries[rank]["waits"]) for rank in others}))
        who = "the others wait" if len(others) > 1 else f"rank {others[0]} waits"
        reason += f"; {who} in {names}"
    ended = sorted(set(range(ranks)) - set(entries))
    if ended:
        reason += "; {} {}".format(
            lines.ranks(ended), "has ended" if len(ended) == 1 else "have ended"
        )
    return Finding(behind[0], reason)


def _behind(entries: Mapping[int, Mapping[str, Any]]) -> tuple[list[int], str]:
    """The ranks with the fewest exchanges or steps, and the words on it; else those alone of which
    another thread or process is in the user's code."""
    for name in _COMPARED:
        counts = {rank: one["counts"].get(name) for rank, one in entries.items()}
        known = [count for count in counts.values() if count is not None]
        if len(known) == len(entries) and min(known) < max(known):
            least = sorted(rank for rank, count in counts.items() if count == min(known))
            return least, f", behind by {max(known) - min(known)} of its {name}"
    beside = sorted(rank for rank, one in entries.items() if one["beside"])
    if beside and len(beside) < len(entries) and all(one["waits"] for one in entries.values()):
        return beside, ""
    return (sorted(entries), "") if len(entries) == 1 else ([], "")


def _places(entries: Mapping[int, Mapping[str, Any]], ranks: Sequence[int]) -> str:
    """``rank 1 in data.py:12 load, rank 2 waits in all_reduce``."""
    told = [f"rank {rank} {_place(entries[rank])}" for rank in ranks[:_MOST_NAMED]]
    if len(ranks) > _MOST_NAMED:
        told.append(f"{len(ranks) - _MOST_NAMED} more elsewhere")
    return ", ".join(told)


def _place(entry: Mapping[str, Any]) -> str:
    if entry["state"] in _STATES:
        return _STATES[str(entry["state"])]
    if not entry["at"]:
        return "where no stack could be read"
    text = "in {}".format(entry["at"])
    if entry["waits"]:
        text = "waiting in {} ({})".format(entry["waits"], entry["at"])
    if entry["beside"]:
        text += ", another thread or process in {}".format(entry["beside"])
    return text + (", computing" if entry["busy"] and not entry["waits"] else "")

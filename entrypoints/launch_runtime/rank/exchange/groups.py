"""The process groups of torch.distributed in this process: their ranks, and how much they carried.

A group counts its collectives (the sequence number). It may begin anywhere, so differences count.
"""

from __future__ import annotations

from typing import Any

from launch_runtime.evidence.records import ALL


class Groups:
    """Those of one process.

    Attributes:
        module: ``torch.distributed.distributed_c10d``, once it is there.
        born: A group's number -> what :meth:`hidden` gave when it was made.
        at_first_step: And when an optimizer made its first step.
        totals: And how many collectives had gone over it then.
    """

    def __init__(self) -> None:
        self.module: Any = None
        self.born: dict[int, int] = {}
        self.at_first_step: dict[int, int] = {}
        self.totals: dict[int, int] = {}
        self._ranks: dict[int, Any] = {}  # a group's number -> its ranks, until one is destroyed
        self._calls: dict[int, int] = {}  # and how many collectives Python has called over it

    @property
    def are_there(self) -> bool:
        """Whether there is a default group now."""
        return self.module is not None and bool(self.module.is_initialized())

    def ranks_of(self, group: Any) -> Any:
        """The ranks of a group: ``"all"``, or a sorted list; None where this one is not in it."""
        group = self.member(group)
        if group is None:
            return None
        found = self._ranks.get(id(group))
        if found is None:
            module = self.module
            if hasattr(module, "get_process_group_ranks"):
                ranks = sorted(module.get_process_group_ranks(group))
            else:
                ranks = sorted(module._pg_group_ranks[group])
            found = ALL if len(ranks) == module.get_world_size() else ranks
            self._ranks[id(group)] = found
        return found

    def total_of(self, group: Any) -> int:
        """How many collectives went over a group so far, from any number on."""
        group = self.member(group)
        if group is None:
            return 0
        number = self._sequence(group)
        return number if number is not None else self._calls.get(id(group), 0)

    def member(self, group: Any) -> Any:
        """The group itself, the default one for None; None where this process is not in it."""
        named = self.module.GroupMember
        if group is None:
            group = getattr(named, "WORLD", None) or self.module.group.WORLD
        return None if group is named.NON_GROUP_MEMBER or isinstance(group, int) else group

    def called(self, group: Any) -> Any:
        """Python has called a collective over a group; its ranks."""
        self._calls[id(group)] = self._calls.get(id(group), 0) + 1
        return self.ranks_of(group)

    def all(self) -> list[Any]:
        """Those that there are now."""
        world = getattr(self.module, "_world", None)
        groups = world.pg_map if world is not None else getattr(self.module, "_pg_map", {})
        return list(groups)

    def forget_gone(self) -> None:
        """A new group may have the number of one that is gone."""
        alive = {id(group): group for group in self.all()}
        for kept in (self._ranks, self._calls, self.born, self.at_first_step, self.totals):
            for number in [number for number in kept if number not in alive]:
                del kept[number]
        self.keep_hidden(self.born)

    def keep_totals(self) -> None:
        """An optimizer is about to make its first step, or another one."""
        for group in self.all():
            number = self._sequence(group)
            if number is not None:
                self.totals.setdefault(id(group), number)

    def since_first_step(self, group: Any) -> int | None:
        """How many collectives went over it since then; None where nobody counts."""
        number = self._sequence(group)
        if number is None or id(group) not in self.totals:
            return None
        return number - self.totals[id(group)]

    def _sequence(self, group: Any) -> int | None:
        try:
            return int(group._get_sequence_number_for_group())
        except Exception:  # a backend, or a version, that has none
            return None

    def hidden(self, group: Any) -> int | None:
        """Its sequence number less the calls that were seen: what else went over it."""
        number = self._sequence(group)
        return None if number is None else number - self._calls.get(id(group), 0)

    def begin_again(self) -> None:
        """What went over them until now is no training."""
        self.born.clear()
        self.keep_hidden(self.born)

    def keep_hidden(self, kept: dict[int, int]) -> None:
        """Their numbers into ``kept``, where there are none yet."""
        for group in self.all():
            hidden = self.hidden(group)
            if hidden is not None:
                kept.setdefault(id(group), hidden)

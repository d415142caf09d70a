"""Asserts, the moment a rank has joined the others, that the right job was made of the ranks.

What that moment is, and what the world is then, the job's strategy says.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Callable, Mapping, NamedTuple, NoReturn

from launch_runtime import lines
from launch_runtime.rank import exit_hook
from launch_runtime.rank.identity import AGENT, Place, Promise
from launch_runtime.rank.refusal import RefusalError
from launch_runtime.rank.reporter import Reporter

if TYPE_CHECKING:
    from launch_runtime.rank.training_watch import TrainingWatch
    from launch_runtime.strategies.strategy import Strategy


class Given(NamedTuple):
    """All that a process of the rank has to know to judge the world that it joins.

    Attributes:
        promise: What the job definition says.
        place: What the rank was given.
        variables: The strategy's own that say it, as they stood before the script ran.
        guard: The process id of the guard.
    """

    promise: Promise
    place: Place
    variables: Mapping[str, str]
    guard: int


class World(NamedTuple):
    """What a rank has joined; None where the strategy cannot tell.

    Attributes:
        size: Its world size, counted as the job's is.
        rank: This rank's number.
        local_size: Ranks on this host.
        local_rank: This one's number among these.
    """

    size: int | None = None
    rank: int | None = None
    local_size: int | None = None
    local_rank: int | None = None


Why = Callable[[], "tuple[str, str]"]  # likely cause and fix


class WorldCheck:
    """What a strategy's hooks tell of the world goes through here.

    Args:
        given: What must come out.
        reporter: Says what came out.
        strategy: The job's.
        training: Is told when the world is joined and left; None where nobody watches.
    """

    def __init__(
        self,
        given: Given,
        reporter: Reporter,
        strategy: Strategy,
        training: TrainingWatch | None = None,
    ):
        self.given, self._reporter = given, reporter
        self._words, self._strategy = strategy.words, strategy
        self._training = training

    @property
    def is_watched(self) -> bool:
        """Whether somebody is told when the world is left."""
        return self._training is not None

    def before(self, call: str = "") -> None:
        """The world is about to be joined: refuses what cannot come out right, and warns of what
        the script has changed.

        Args:
            call: What the script calls; the strategy's own word for it where it is "".
        """
        self.refuse_inner()
        self.tell_changes(call)

    def joined(self, world: World, carrier: Callable[[], str], why: Why, call: str = "") -> None:
        """The world is joined. Compares it with what it must be; ends the process where it is
        another one, else says so.

        Args:
            world: What was joined.
            carrier: Gives what carries tensors between ranks, such as ``Gloo``; asked in rank 0.
            why: Gives the likely cause of another world, and the fix; asked where it is one and the
                script has changed no variable.
            call: See :meth:`before`.
        """
        place, promise = self.given.place, self.given.promise
        must = World(promise.size, place.rank, place.local_size, place.local_rank)
        expected, found = _compared(must, world), _compared(world, world)
        if found != expected:
            cause, fix = self._why(why)
            moment = f" when {call or self._words.join} returned"
            self.end(RefusalError(expected, found + moment, cause, fix))
        if not self._reporter.initialised and place.rank == 0:
            hosts = promise.hosts or promise.size // place.local_size
            noun = self._words.holds
            text = lines.world(promise.size, hosts, promise.size // hosts, carrier(), noun)
            self._reporter.proof(text)
        self._reporter.note_initialised()
        if self._training is not None:
            self._training.joined()

    def leaving(self) -> None:
        """The world is about to be left; blocks for seconds."""
        if self._training is not None:
            self._training.leaving()

    def end(self, refusal: RefusalError) -> NoReturn:
        """Ends the rank with code 1 at once, whatever the script would catch."""
        if self._in_child():
            self._reporter.refuse_in_child(refusal, self.given.place.by == AGENT)
            end_guard(self.given.guard)
        else:
            self._reporter.refuse(refusal)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue
        exit_hook.at_once(1)

    def refuse_inner(self) -> None:
        """Ends a child process that somebody has made a rank of something else."""
        if self._in_child() and self._has_another_place():
            self.end(
                RefusalError(
                    str(self.given.promise),
                    self._words.inner,
                    "the script starts ranks of its own in every rank of this job",
                    self._words.fix_inner,
                )
            )

    def tell_changes(self, call: str = "") -> None:
        """Warns of variables that the script has changed."""
        changed = self._changed()
        if changed:
            text = f"before {call or self._words.join}, {self._what(changed)}"
            self._reporter.line(lines.warning(text))

    def _why(self, why: Why) -> tuple[str, str]:
        changed = self._changed()
        return (self._what(changed), self._words.keep) if changed else why()

    def _changed(self) -> list[str]:
        """The given variables that the script has changed or taken away."""
        given = self.given.variables
        return [name for name, value in given.items() if os.environ.get(name) != value]

    def _what(self, changed: list[str]) -> str:
        gone = [name for name in changed if name not in os.environ]
        other = [name for name in changed if name in os.environ]
        parts = []
        if gone:
            parts.append(f"the script has removed {lines.and_list(gone)}")
        for name in other:
            change = f"{name} from {self.given.variables[name]} to {os.environ[name]}"
            parts.append("the script has changed " + change)
        return "; ".join(parts)

    def _has_another_place(self) -> bool:
        """Whether somebody has made this process a rank of something else."""
        given = self.given.variables
        return any(
            os.environ.get(name, given.get(name)) != given.get(name)
            for name in self._strategy.place_names
        )

    def _in_child(self) -> bool:
        return os.getpid() != self.given.guard


def watch(
    given: Given, reporter: Reporter, strategy: Strategy, training: TrainingWatch | None = None
) -> WorldCheck:
    """From now on it is noticed whenever this process joins and leaves the world."""
    check = WorldCheck(given, reporter, strategy, training)
    strategy.watch(check)
    return check


def variables(strategy: Strategy, environment: Mapping[str, str]) -> dict[str, str]:
    """The strategy's variables about the rank's place, as they stand now."""
    return {name: environment[name] for name in strategy.watched if name in environment}


def end_guard(guard: int) -> None:
    """Kills the guard above this process, so that a refused child ends its whole rank."""
    process = os.getppid()
    try:
        while process != guard:  # above the first process is number 0, which has no such file
            with open(f"/proc/{process}/stat", "rb") as file:
                process = int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return
    os.kill(guard, 9)


def _compared(world: World, known: World) -> str:
    """Those numbers of ``world`` that ``known`` has, in words."""
    names = ("world size", "rank", "local size", "local rank")
    told = zip(names, world, known)
    return ", ".join(f"{name} {value}" for name, value, has in told if has is not None)

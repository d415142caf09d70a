"""Keeps what the hooks see in one process."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Sequence

from launch_runtime.rank.exchange import BROADCAST, is_looked_at
from launch_runtime.rank.exchange.exchanging import Exchanging
from launch_runtime.rank.exchange.telling import Send
from launch_runtime.rank.exchange.trained_set import BY_HAND
from launch_runtime.rank.exchange.variables import (
    GRADIENTS,
    UNKNOWN,
    VALUES,
    WEIGHTS,
    Exchanges,
    Variable,
    Variables,
)
from launch_runtime.rank.exchange.watching import quiet
from launch_runtime.rank.import_hook import OnImport, when_imported

Table = Callable[["Collector"], "Mapping[str, OnImport]"]


def install(send: Send, tables: Sequence[Table]) -> Collector:
    """Puts the hooks in: they act once a framework is imported.

    Args:
        send: Takes a record (see ``launch_runtime/evidence/records.py``) whenever one is due.
        tables: The strategy's hooks: each gives, for the collector, what is to be done with
            modules once they are there.
    """
    collector = Collector(send)
    for table in tables:
        when_imported(table(collector))
    return collector


class Collector(Exchanging):
    """What one process trained and exchanged.

    Args:
        send: See :func:`install`.

    Attributes:
        variables: Those that were seen.
    """

    def _begin(self) -> None:
        self.variables = Variables()
        self._begin_exchange()
        self._begin_reach(self.variables)

    @quiet
    def computed(
        self,
        gradients: Sequence[Any],
        variables: Sequence[Variable | None],
        is_part: bool = False,
    ) -> None:
        """A framework has computed the gradients of variables.

        Args:
            is_part: Of a part of the loss: something else may have come from other ranks.
        """
        for gradient, variable in zip(gradients, variables):
            if gradient is None or variable is None:
                continue
            variable.is_open |= is_part
            variable.is_renewed |= self.reach.is_through
            variable.has_gradient = self._has_begun = True
            variable.fresh = Exchanges()
            self._gradients.set(gradient, variable)

    @quiet
    def applied(
        self,
        owner: Any,
        name: str,
        pairs: Sequence[tuple[Any, Variable | None]],
        steps: Callable[[], int] | None,
        ways: Iterable[str] = (),
        reduces: bool = False,
    ) -> None:
        """An optimizer changes variables by gradients; once a trace inside a ``tf.function``.

        Args:
            owner: The optimizer.
            name: Its class.
            pairs: Gradient and variable of each.
            steps: Gives the number of its steps, where somebody counts them.
            ways: Of ``evidence.records.WAYS``, in which its gradients go to other ranks.
            reduces: It is given gradients of this rank, and reduces them itself.
        """
        known = self._sets.of(owner) or self._sets.begin(name, owner, steps)
        if known is None:
            return
        known.seen_in(self._telling.phase)
        known.ways.update(ways)
        for gradient, variable in pairs:
            if variable is None:
                continue
            known.add(variable, reduces)
            variable.is_trained |= gradient is not None
            group = self._arrived.of(gradient)
            if group is not None and group != BROADCAST:
                variable.is_reduced = True
                self._went(variable, GRADIENTS, group)
            elif not reduces and self._is_own(gradient, variable):
                variable.is_raw = True
            else:
                variable.is_open |= gradient is not None
            self.reach.trained(variable)
            known.took(variable)

    def _is_own(self, gradient: Any, variable: Variable) -> bool:
        """Whether it is the variable's gradient in this rank alone."""
        return self._gradients.of(gradient) is variable or self.reach.is_as_sent(gradient)

    def is_known(self, owner: Any, count: int) -> bool:
        """Whether a further step of this optimizer is no news."""
        known = self._sets.of(owner)
        return (
            known is not None
            and len(known.variables) == count
            and self._telling.phase in known.phases
            and known.is_settled
        )

    @quiet
    def assigned(self, variable: Variable, value: Any = None, is_traced: bool = False) -> None:
        """The script, and no optimizer, gives a variable another value.

        Args:
            value: The new one, where it is known.
            is_traced: A function that does so is traced, and may run at any time.
        """
        group = self._arrived.of(value)
        # A broadcast gives start weights, unless something has gone before.
        if self.reach.is_sent or (is_traced and group != BROADCAST):
            self._given(variable, is_traced)
        variable.is_renewed |= is_traced or WEIGHTS in variable.hows
        if group is not None:
            # It came from other ranks: a broadcast, or an average of weights.
            if group != BROADCAST:
                self._went(variable, WEIGHTS, group)
                variable.is_renewed = True
        elif variable.owner is not None and variable.owner.name != BY_HAND:
            steps = variable.owner.steps()
            variable.changed_at = UNKNOWN if steps is None else steps
        elif variable.has_gradient:
            by_hand = self._sets.by_hand()
            by_hand.seen_in(self._telling.phase)
            by_hand.add(variable, reduces=True)

    @quiet
    def stepped(self) -> None:
        """An optimizer makes a step, and all is told of what went out until then."""
        self._unclaimed.stepped()

    @quiet
    def unfollowed(
        self,
        owner: Any,
        step: int,
        gradients: Sequence[tuple[Any, Variable, Any]],
        read: Callable[[Any], Any],
        what: str = "",
    ) -> None:
        """Gradients went out, and nobody saw whether what came back was put into them.

        Args:
            owner: The optimizer that is about to apply them; :meth:`applied` was told of it.
            step: Its number.
            gradients: Each with its variable and the group that it went over.
            read: Gives a gradient's values as a NumPy array; may raise anything.
            what: See :meth:`TrainedSet.look_at_applied`.
        """
        for _, variable, group in gradients:
            if self._sets.of(owner) is not None:
                self._went(variable, VALUES, group)
        self.followed(owner, step, gradients, read, what)

    @quiet
    def followed(
        self,
        owner: Any,
        step: int,
        gradients: Sequence[tuple[Any, Variable, Any]],
        read: Callable[[Any], Any],
        what: str = "",
    ) -> None:
        """Gradients are where an exchange left its result: the same in all ranks, unless they were
        computed anew since. See :meth:`unfollowed`."""
        known = self._sets.of(owner)
        if known is None:
            return
        # Ranks can be compared that averaged among themselves.
        (_, _, group), *_ = gradients
        alike = [(gradient, one) for gradient, one, its in gradients if its == group]
        known.look_at_applied(step, group, alike, read, what)

    @quiet
    def took(self, owner: Any, variables: Iterable[Variable]) -> None:
        """An optimizer is about to apply these variables' gradients, and all is told of them."""
        known = self._sets.of(owner)
        for variable in variables:
            if known is not None:
                known.took(variable)
            variable.fresh = Exchanges()
        if known is not None:
            known.looks += 1
            known.settle()  # the script may drop it

    @quiet
    def seldom(self, owner: Any, is_seldom: bool) -> None:
        """Whether at most steps of this optimizer nothing went over the groups of what wraps its
        models."""
        known = self._sets.of(owner)
        if known is not None:
            known.is_seldom = is_seldom

    @quiet
    def sampled(self, kind: str, read: Callable[[], float]) -> None:
        """A training step has been given a batch, or has come to a loss.

        Args:
            kind: ``BATCHES`` or ``LOSSES``.
            read: Gives it as a number, which other samples would not have; may raise anything.
        """
        count = self._samples.note(kind, read)
        if count > 1 and is_looked_at(count):
            self._telling.in_course()

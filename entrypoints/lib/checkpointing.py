"""When a run writes checkpoints, and how all its ranks end together when one is told to stop."""

from __future__ import annotations

import os

from .agreement import Agreement, Decision
from .arguments import Settings
from .errors import StoppedError
from .learner import Learner
from .plan import Plan
from .ranks import Ranks
from .remaining import Remaining
from .saved_state import SavedState
from .stopping import StopSignal, patience


class Checkpointing:
    """Between the steps and epochs of a run; all ranks make the same calls.

    Inside ``with`` SIGTERM on any rank ends the run after a step that all agree on.

    Args:
        settings: The command line.
        ranks: Of the run.
        learner: The model in training.
        state: How far the run is; restored.
        plan: Of an epoch.
        left: What this rank has to train, from where the run began.
    """

    def __init__(
        self,
        settings: Settings,
        ranks: Ranks,
        learner: Learner,
        state: SavedState,
        plan: Plan,
        left: Remaining,
    ):
        self._every, self._learner, self._state = settings.checkpoint_steps, learner, state
        self._plan, self._left = plan, left
        self._passes = settings.backward_passes
        self._begun_step = state.step  # of the epoch in which this run began
        self._signal = StopSignal(patience(os.environ))
        minutes = settings.checkpoint_minutes if state.folder is not None else None
        self._agreement = Agreement(ranks, lambda: self._signal.requested, minutes)

    def __enter__(self) -> Checkpointing:
        """From now on SIGTERM is noted."""
        self._signal.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """From now on SIGTERM ends the process; a second call changes nothing."""
        self._signal.__exit__()

    @property
    def stops(self) -> bool:
        """Whether this rank was told to stop, so that what takes long may be cut short."""
        return self._signal.requested

    def after_step(self, step: int, steps_done: int) -> None:
        """Perhaps writes a checkpoint; an epoch's last step has one of its own.

        Args:
            step: Of the epoch, from 1.
            steps_done: In all.

        Raises:
            StoppedError: The run ends here.
            TrainingError: The checkpoint cannot be written.
            PeerEndedError: The same, on the ranks that have nothing to add.
        """
        if step % self._passes:
            return  # a checkpoint holds no gradients that are being added up
        decision = self._agreement.after_step()
        if step >= self._plan.steps:
            return  # whoever was told to stop says so again after the epoch
        regular = self._every is not None and step % self._every == 0
        if regular or decision.save or decision.stopped:
            state = self._state
            epochs = state.epochs_done - state.begun_at
            first = not epochs
            taken = step - self._left.steps_before * first
            self._learner.settle()
            self._state.after_step(
                taken + self._begun_step * first, steps_done, self._left.course.state(epochs, taken)
            )
            self._agreement.saved()
        self._end(decision)

    def after_epoch(self) -> None:
        """An epoch has its checkpoint.

        Raises:
            StoppedError: The run ends here.
        """
        self._agreement.saved()
        self._end(self._agreement.after_epoch())

    def leave(self) -> None:
        """What comes now loses nothing that is worth a wait: from now on SIGTERM ends the process.

        Raises:
            StoppedError: A rank was told to before.
        """
        self._signal.__exit__()
        self._end(self._agreement.after_epoch())

    def _end(self, decision: Decision) -> None:
        if not decision.stopped:
            return
        who = ", ".join(str(rank) for rank in decision.stopped)
        ranks = "rank" if len(decision.stopped) == 1 else "ranks"
        raise StoppedError(f"SIGTERM on {ranks} {who}; {self._state.where()}")

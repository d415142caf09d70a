"""Where a job's training stands, by its lines so far: what is newest, and the time that is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from launchers.core.model.jobs import LogLine
from launchers.core.output.training_progress.line import parse
from launchers.core.output.training_progress.numbers import MOST_METRICS
from launchers.core.output.training_progress.pace import Pace
from launchers.core.output.training_progress.told import (
    BAR,
    EPOCH,
    KERAS,
    LAUNCH,
    LIGHTNING,
    LOGGED,
    STEPS,
    TRAINER,
    TRAINING,
    Told,
)

_LATE_SECONDS = 60.0


@dataclass(frozen=True)
class Progress:
    """Where a training stands; None for what nobody has said.

    Attributes:
        epoch: The one that runs or has just ended, from 1.
        epochs: Of the whole training.
        step: Steps, or samples, that are done.
        steps: How many there are.
        counted: What ``step`` counts: ``steps`` or ``samples``.
        of: What ``steps`` are all of: ``epoch``, ``training``, or empty where nothing says.
        rate: ``unit`` a second.
        unit: ``images``, ``samples`` or ``steps``.
        metrics: The last of each name.
        seconds: Of training so far, as the script says it.
        at: When the newest line was printed, in seconds since the epoch; None where no line says.
        left: Seconds until the training's end, from ``at`` on.
        epoch_left: Seconds until all ``steps`` are done, from ``at`` on.
        silence: The longest time between two such lines, in seconds.
        fraction: How much of the training is done, from 0 to 1.
    """

    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    counted: str = STEPS
    of: str = ""
    rate: float | None = None
    unit: str = STEPS
    metrics: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    at: float | None = None
    left: float | None = None
    epoch_left: float | None = None
    silence: float = 0.0
    fraction: float | None = None

    @property
    def place(self) -> str:
        """``epoch 1/3, step 20/22``, as far as it is known."""
        parts = []
        if self.epoch is not None:
            parts.append(f"epoch {_of(self.epoch, self.epochs)}")
        if self.step is not None:
            samples = self.counted != STEPS
            parts.append(f"{'' if samples else 'step '}{_of(self.step, self.steps)}")
            parts[-1] += f" {self.counted}" if samples else ""
        return ", ".join(parts)

    def is_late_at(self, now: float) -> bool:
        """Whether nothing was heard for longer than is usual with this training."""
        return self.at is not None and now - self.at > max(_LATE_SECONDS, 2 * self.silence)

    def left_at(self, now: float) -> float | None:
        """Seconds until the training's end; None where that is not known, or no longer."""
        return self._from(now, self.left)

    def epoch_left_at(self, now: float) -> float | None:
        """Seconds until all :attr:`steps` are done; None as there."""
        return self._from(now, self.epoch_left)

    def _from(self, now: float, left: float | None) -> float | None:
        if left is None or self.is_late_at(now):
            return None
        return max(0.0, left - max(0.0, now - self.at)) if self.at is not None else left


class TrainingProgress:
    """Takes a job's lines in their order. Only rank 0's count, or where no line has a rank those of
    the host that spoke of its training first. Memory is bounded whatever the lines say.

    Attributes:
        progress: What is known by now; None before the first line of a training.
    """

    def __init__(self) -> None:
        self._host: str | None = None
        self._ranked = False
        self._begin()

    def _begin(self) -> None:
        self.progress: Progress | None = None
        self._by = ""
        self._from_zero = False
        self._is_trainer = False
        self._total: int | None = None  # of Keras' bar in this epoch, or of a bar without a title
        self._is_whole = False  # Keras has told this epoch's last step
        self._has_outer = False  # a bar whose steps are epochs
        self._outer_epochs: int | None = None
        self._scheduled: int | None = None  # epochs, as a logger says them before the first one
        self._end: tuple[float | None, float] | None = None  # when a line said how much was left
        self._pace = Pace()

    def see(self, line: LogLine) -> bool:
        """Take one line; whether it told of the training."""
        if line.rank not in (0, None) or (self._ranked and line.rank is None):
            return False
        told = parse(line.text)
        if told is None:
            return False
        if line.rank is None:
            self._host = self._host if self._host is not None else line.host
            if line.host != self._host:
                return False
        elif not self._ranked:
            self._ranked = True  # what came without a rank was another's
            self._begin()
        if not self._counts(told):
            return False
        self._take(told, line.time or None)
        return True

    def _counts(self, told: Told) -> bool:
        """Whether it is of the training, by what was said before."""
        if self._by == LAUNCH and told.by != LAUNCH:
            return False
        if told.by == LOGGED and told.epoch is None and told.epochs:
            self._scheduled = told.epochs
            return False
        if told.by == KERAS and told.epoch is None:
            return self._is_fit(told)
        if told.by == BAR and not told.is_of_epochs and self._has_outer:
            # One within it, which may count its epochs otherwise; of others is another training.
            if told.epochs in (None, self._outer_epochs):
                return False
            self._has_outer = False
        if told.by == BAR and not told.of:
            return self._is_main(told)
        return True

    def _is_fit(self, told: Told) -> bool:
        """Whether a bar of Keras is an epoch's: evaluate() and predict() have the same, without a
        line ``Epoch 1/3``, and behind an epoch's last step only its validation is told."""
        if self._by != KERAS or (self._total is not None and told.steps != self._total):
            return False
        whole = told.step == told.steps and told.left is None
        if self._is_whole:
            return whole and any(name.startswith("validation ") for name in told.metrics)
        self._total, self._is_whole = told.steps, whole
        return True

    def _is_main(self, told: Told) -> bool:
        """Whether a bar without a title is the one of the training: the first one until it ends.
        Others run within it (an evaluation, the batches of an epoch)."""
        now = self.progress
        if self._by not in ("", BAR, TRAINER):
            return False
        if self._by == BAR and now is not None and now.of == EPOCH:
            return False  # those that are say their epoch
        if self._total is not None and told.steps != self._total and now is not None:
            if now.step is not None and now.step < self._total:
                return False
            if self._is_trainer:  # its evaluation at the end
                return False
        self._total = told.steps
        return True

    def _take(self, told: Told, at: float | None) -> None:
        before = self.progress or Progress()
        self._from_zero = self._from_zero or told.from_zero
        self._is_trainer = self._is_trainer or told.by == TRAINER
        if told.is_of_epochs:
            self._has_outer = told.passing  # at its end another training may begin
            self._outer_epochs = told.epochs
        if told.by != BAR or told.of or not self._by:
            self._by = told.by
        changes: dict[str, object] = {"metrics": _joined(before.metrics, told.metrics)}
        if told.epoch is not None:
            number = told.epoch + (1 if self._from_zero and not told.is_of_epochs else 0)
            changes["epoch"] = number
            if number != before.epoch and told.by != TRAINER:
                changes.update(step=None, steps=None)
                self._total, self._is_whole = None, False
        if told.by == LOGGED and told.epoch is not None:
            changes["epochs"] = self._scheduled
        if told.epochs is not None:
            changes["epochs"] = self._epochs(told)
        if told.of:
            changes["of"] = told.of
        if told.step is not None:
            changes.update(step=told.step, steps=told.steps, counted=told.counted, of=told.of)
        if told.rate is not None:
            changes.update(rate=told.rate, unit=told.unit)
        if told.seconds is not None:
            changes["seconds"] = told.seconds
        now = replace(before, **changes, at=at or before.at)  # type: ignore[arg-type]
        if self._is_trainer and now.of == "" and now.step is not None:
            now = replace(now, of=TRAINING)
        self.progress = self._with_time(now, told, at)

    def _epochs(self, told: Told) -> int | None:
        """How many there are. Of those that are counted from 0, ``Epoch 0/4`` says the number of
        the last one or how many there are, and its line at the end alone says which."""
        if told.by == LIGHTNING or told.epochs is None:
            return told.epochs + 1 if told.epochs is not None else None
        if not self._from_zero or told.by not in (BAR, KERAS) or told.is_of_epochs:
            return told.epochs
        return told.epochs + 1 if told.epoch == told.epochs else None

    def _with_time(self, now: Progress, told: Told, at: float | None) -> Progress:
        done, total = _done(now)
        if told.is_of_epochs:
            done = told.done
        if at is not None and done is not None:
            self._pace.see(at, done, now.of)
        left = epoch_left = None
        each = self._pace.seconds_each() or _seconds_each(now)
        if each is not None and done is not None and total is not None:
            left = max(0.0, total - done) * each
        if told.training_left is not None:
            self._end = at, told.training_left
        if left is None and self._end is not None:
            since, left = self._end
            left = max(0.0, left - (at - since)) if at and since else left
        if now.of == TRAINING:
            left = told.left if left is None else left
        elif now.step is not None and now.steps:
            epoch_left = told.left
            if epoch_left is None and now.rate and now.unit == now.counted:
                epoch_left = max(0, now.steps - now.step) / now.rate
            elif epoch_left is None and each is not None and now.of == EPOCH:
                epoch_left = max(0.0, 1 - now.step / now.steps) * each
        fraction = min(1.0, done / total) if done is not None and total else None
        return replace(
            now,
            left=left,
            epoch_left=epoch_left,
            silence=self._pace.silence,
            fraction=fraction,
        )


def _done(now: Progress) -> tuple[float | None, float | None]:
    """How much is done and how much there is, in epochs or in steps of the whole training."""
    if now.of == TRAINING and now.step is not None:
        return float(now.step), float(now.steps) if now.steps else None
    if now.of != EPOCH or now.epoch is None:
        return None, None
    part = min(1.0, now.step / now.steps) if now.step is not None and now.steps else 0.0
    return now.epoch - 1 + part, float(now.epochs) if now.epochs else None


def _seconds_each(now: Progress) -> float | None:
    """Seconds of an epoch, or of a step of the training, by the rate that a line says."""
    if not now.rate or now.unit != now.counted:
        return None
    if now.of == TRAINING:
        return 1 / now.rate
    return now.steps / now.rate if now.of == EPOCH and now.steps else None


def _joined(before: Mapping[str, float], new: Mapping[str, float]) -> dict[str, float]:
    """The last of each name, the newest names where there are too many."""
    if not new:
        return dict(before)
    kept = {name: value for name, value in before.items() if name not in new}
    room = MOST_METRICS - len(new)
    return {**dict(list(kept.items())[-room:] if room > 0 else ()), **new}


def _of(count: int, total: int | None) -> str:
    return f"{count}/{total}" if total is not None else str(count)

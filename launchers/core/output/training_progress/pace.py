"""How fast a training is, by when it was where."""

from __future__ import annotations

_MOST = 64  # moments that are kept


class Pace:
    """Keeps moments of a training, ever fewer the longer it takes.

    Attributes:
        silence: The longest time between two moments, in seconds.
    """

    def __init__(self) -> None:
        self._moments: list[tuple[float, float]] = []
        self._unit = ""
        self._newest: tuple[float, float] | None = None
        self.silence = 0.0

    def see(self, at: float, done: float, unit: str) -> None:
        """So much was done at that time.

        Args:
            at: In seconds since the epoch.
            done: In units; less than before where it began anew.
            unit: Of ``done``; another one than before begins anew.
        """
        newest = self._newest
        if newest is None or unit != self._unit or done < newest[1] or at < newest[0]:
            self._moments, self._unit = [], unit
        else:
            self.silence = max(self.silence, at - newest[0])
        self._newest = (at, done)
        self._moments.append(self._newest)
        if len(self._moments) > _MOST:
            del self._moments[1:-1:2]

    def seconds_each(self) -> float | None:
        """Seconds that a unit takes now: over the last one, with what came between its steps and
        behind them, else over all that was seen; None where that says nothing."""
        if self._newest is None or len(self._moments) < 2:
            return None
        now, done = self._newest
        begun = self._moments[0]
        for moment in reversed(self._moments):
            if done - moment[1] >= 1:
                begun = moment
                break
        if done <= begun[1] or now <= begun[0]:
            return None
        return (now - begun[0]) / (done - begun[1])

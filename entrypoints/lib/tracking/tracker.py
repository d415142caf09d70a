"""What a run tells those who track it: one small protocol, whatever stands behind it."""

from __future__ import annotations

from typing import Any, Mapping, Protocol, Sequence

# How a run may have ended, in MLflow's words.
FINISHED, FAILED, KILLED = "FINISHED", "FAILED", "KILLED"


class Tracker(Protocol):
    """Is told of one run, on rank 0. No call blocks but ``end``, and none raises."""

    def begin(self, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Before the first step. ``parameters`` are the run's settings, ``tags`` what it is."""

    def metrics(self, steps: int, values: Mapping[str, float]) -> None:
        """After ``steps`` optimizer steps of the whole training."""

    def tags(self, tags: Mapping[str, str]) -> None:
        """What has become known of the run since it began."""

    def file(self, path: str) -> None:
        """A file of the run's, such as its model; it is whole, and stays where it is."""

    def end(self, status: str = FINISHED, seconds: float | None = None) -> None:
        """The last call; blocks for at most ``seconds`` (default: the tracker's own)."""


class Nobody:
    """Where nothing is tracked, and on every rank but the first."""

    def begin(self, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Nothing."""

    def metrics(self, steps: int, values: Mapping[str, float]) -> None:
        """Nothing."""

    def tags(self, tags: Mapping[str, str]) -> None:
        """Nothing."""

    def file(self, path: str) -> None:
        """Nothing."""

    def end(self, status: str = FINISHED, seconds: float | None = None) -> None:
        """Nothing."""


class Several:
    """Tells each of several trackers the same."""

    def __init__(self, trackers: Sequence[Tracker]):
        self._trackers = tuple(trackers)

    def begin(self, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """See :class:`Tracker`."""
        for tracker in self._trackers:
            tracker.begin(parameters, tags)

    def metrics(self, steps: int, values: Mapping[str, float]) -> None:
        """See :class:`Tracker`."""
        for tracker in self._trackers:
            tracker.metrics(steps, values)

    def tags(self, tags: Mapping[str, str]) -> None:
        """See :class:`Tracker`."""
        for tracker in self._trackers:
            tracker.tags(tags)

    def file(self, path: str) -> None:
        """See :class:`Tracker`."""
        for tracker in self._trackers:
            tracker.file(path)

    def end(self, status: str = FINISHED, seconds: float | None = None) -> None:
        """One after the other; each may take its time."""
        for tracker in self._trackers:
            tracker.end(status, seconds)

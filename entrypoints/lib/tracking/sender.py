"""A tracker that never holds up the training: one thread sends, and what it can't send is kept.

``begin``, ``metrics``, ``tags`` and ``file`` put a record into a queue and return. The thread sends
it when it can; a server that refuses, hangs or is away is tried again. ``end`` gives it some
seconds more, and then writes what is left into a file that :mod:`lib.tracking.kept` sends later.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Mapping, Protocol, Sequence

from . import kept, messages
from .backlog import Backlog
from .records import BEGIN, END, FILE, METRICS, TAGS, Record, as_numbers, as_text, record
from .tracker import FINISHED

BATCH = 200  # metrics records at once
SECONDS_AT_END = 60.0
FIRST_PAUSE, LONGEST_PAUSE, PAUSE_AT_END = 1.0, 30.0, 0.5  # seconds between two attempts
GRACE = 0.5  # seconds at the end in which a server that is well takes all
_LOOK_SECONDS = 1.0  # after which the thread looks again, should it have slept through a call


class RefusedError(Exception):
    """These records will never be taken, whenever they are sent."""


class Sink(Protocol):
    """Whereto records go.

    Attributes:
        title: For messages, without credentials: ``MLflow at http://HOST:5000``.
        link: Where the run is seen; "" as long as that is unknown.
    """

    title: str
    link: str

    def about(self) -> Mapping[str, Any]:
        """What a file of kept records must say so that they can be sent later."""

    def send(self, records: Sequence[Record]) -> None:
        """Sends records of one kind; blocks as long as that takes.

        A second call with the same records changes nothing.

        Raises:
            RefusedError: These are not taken, others may be; of a beginning, a part of it.
            Exception: Whatever the client library raises; another attempt may succeed.
        """


class Sender:
    """A :class:`lib.tracking.tracker.Tracker` before a sink.

    Args:
        sink: Is used by the thread alone.
        key: Of the run.
        name: That the run is shown under; "" for the sink's own choice.
        folders: Where records may be kept: after a run that has finished the first one is taken,
            after any other the last.
        seconds: That ``end`` blocks for at most.
        say: Takes lines for people.
        first_pause: Seconds between the first two attempts; doubled with each more.
    """

    def __init__(
        self,
        sink: Sink,
        key: str,
        name: str = "",
        folders: Sequence[str] = (),
        seconds: float = SECONDS_AT_END,
        say: Callable[[str], None] = messages.say,
        first_pause: float = FIRST_PAUSE,
    ):
        self._sink, self._key, self._name, self._seconds = sink, key, name, seconds
        self._say, self._first_pause = say, first_pause
        self._keeper = kept.Keeper(sink.about(), key, folders)
        self._backlog = Backlog()
        self._refused: list[Record] = []
        self._begin: Record | None = None
        self._closing, self._given_up = threading.Event(), threading.Event()
        self._reason = ""  # why the last attempt failed; "" where it didn't
        self._thread = threading.Thread(target=self._work, name="tracking", daemon=True)

    def begin(self, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Starts the thread; takes up what an earlier start of this run could not send."""
        self._begin = record(
            BEGIN, key=self._key, name=self._name, parameters=as_text(parameters), tags=dict(tags)
        )
        self._backlog.add(self._begin)
        for one in self._keeper.taken_up():
            self._backlog.add(one)
        self._thread.start()

    def metrics(self, steps: int, values: Mapping[str, float]) -> None:
        """See :class:`lib.tracking.tracker.Tracker`."""
        self._backlog.add(record(METRICS, steps=int(steps), values=as_numbers(values)))

    def tags(self, tags: Mapping[str, str]) -> None:
        """See :class:`lib.tracking.tracker.Tracker`."""
        self._backlog.add(record(TAGS, tags=dict(tags)))

    def file(self, path: str) -> None:
        """See :class:`lib.tracking.tracker.Tracker`."""
        self._backlog.add(record(FILE, path=path))

    def end(self, status: str = FINISHED, seconds: float | None = None) -> None:
        """Blocks until all is sent, at most so long; what is left then is written into a file.

        While it waits for more than a moment, the file is there already: whoever ends this process
        meanwhile (its agent, after another rank's failure) takes nothing away.
        """
        if self._begin is None or self._closing.is_set():
            return
        ending = record(END, status=status)
        self._backlog.add(ending)
        self._closing.set()
        self._backlog.wake()
        seconds = self._seconds if seconds is None else seconds
        grace = 0.0 if self._reason else min(GRACE, seconds)
        self._thread.join(grace)
        finished = status == FINISHED
        if self._thread.is_alive() and seconds > grace:
            with contextlib.suppress(OSError):  # said below, should it be the same then
                self._keeper.write(
                    self._begin, ending, self._without_begin(self._backlog.all()), finished
                )
            self._thread.join(seconds - grace)
        self._given_up.set()
        left = self._without_begin([*self._backlog.rest()])
        for line in self._keeper.keep(
            self._begin,
            ending,
            left,
            finished,
            self._sink.title,
            self._reason or ("no answer yet" if self._thread.is_alive() else ""),
            self._backlog.lost,
        ):
            self._say(line)
        if not left and self._sink.link:
            self._say(f"tracking: {self._sink.link}")

    def _without_begin(self, records: Sequence[Record]) -> list[Record]:
        """With those that were refused."""
        return [one for one in (*records, *self._refused) if one["what"] != BEGIN]

    def _work(self) -> None:
        failures, alone = 0, 0  # records that go one by one, since one of them was refused
        while not self._given_up.is_set():
            batch = self._backlog.first(1 if alone else BATCH)
            if not batch:
                if self._closing.is_set():
                    return
                self._backlog.wait(_LOOK_SECONDS)
                continue
            try:
                self._sink.send(batch)
            except RefusedError as error:
                if len(batch) > 1:
                    alone = len(batch)
                    continue
                self._set_aside(batch[0], str(error))
            except Exception as error:
                failures += 1
                self._fails(error)
                if batch[0]["what"] == FILE:  # it holds up nothing that is smaller
                    self._backlog.put_behind()
                self._pause(failures)
                continue
            self._backlog.drop(len(batch))
            failures, alone = 0, max(0, alone - len(batch))
            self._works()

    def _set_aside(self, one: Record, why: str) -> None:
        if one["what"] == BEGIN:  # the run is there, and is all that a later attempt would send
            self._tell(f"{self._sink.title} does not take all of the run's parameters: {why}")
            return
        if not self._refused:
            self._tell(f"{self._sink.title} does not take {one['what']}: {why}")
        self._refused.append(one)

    def _fails(self, error: Exception) -> None:
        reason = messages.reason(error)
        if not self._reason:
            self._tell(
                f"{self._sink.title}: {reason}; the training goes on, and what it says is sent "
                "later or kept"
            )
        self._reason = reason

    def _works(self) -> None:
        if self._reason:
            self._tell(f"{self._sink.title} answers again")
        self._reason = ""

    def _tell(self, text: str) -> None:
        if not self._given_up.is_set():
            self._say(f"tracking: {text}")

    def _pause(self, failures: int) -> None:
        if self._closing.is_set():
            self._given_up.wait(min(PAUSE_AT_END, self._first_pause))
        else:
            self._closing.wait(min(LONGEST_PAUSE, self._first_pause * 2 ** min(failures - 1, 10)))

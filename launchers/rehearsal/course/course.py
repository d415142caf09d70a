"""The attempts of one rehearsal: one; more where spot capacity is taken back in between, or where
the service would run the whole job again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from launchers.core.model.jobs import FAILED, LOST, NOT_PROVEN, JobDefinition, LogLine
from launchers.core.output.lines import JobWatch
from launchers.core.proof import Verdict
from launchers.core.records.nonce import without_secret
from launchers.image.start_faults import start_fault_of
from launchers.rehearsal.course.attempt import ENGINE_LOST, INTERRUPTED, Attempt, AttemptEnd
from launchers.rehearsal.course.outcome import RehearsalResult, copies_of, judged
from launchers.rehearsal.course.outputs import Outputs, carry_over, collect_outputs
from launchers.rehearsal.course.restarts import (
    after_interruption,
    before_interruption,
    is_tried_again,
    tried_again,
)
from launchers.rehearsal.engine.cluster import Cluster, StartError
from launchers.rehearsal.engine.labels import Labels
from launchers.rehearsal.staging.images import Told
from launchers.rehearsal.staging.stage import Stage

_FULL = "no space left on device"
_ROOM = "`docker system df` shows what takes the room"
# Words of a state, behind "the job itself".
_ENDED = {NOT_PROVEN: "is not proven", LOST: "is lost"}


class Audience(Told, Protocol):
    """Hears what a rehearsal has to say while it runs."""

    def plan(self, prepared: Stage, labels: Labels) -> None:
        """What is about to start, deviations first."""

    def line(self, line: LogLine, watch: JobWatch) -> None:
        """A line of the job."""


class Course:
    """Creates, starts, hears and judges the containers of one rehearsal; others remove them.

    Args:
        client: The engine.
        folder: Where the outcome goes; made here.
        interrupt_after: Seconds after the proof line, or None.
    """

    def __init__(
        self,
        client: Any,
        labels: Labels,
        prepared: Stage,
        definition: JobDefinition,
        folder: Path,
        audience: Audience,
        interrupt_after: int | None = None,
    ):
        self._client, self._labels, self._stage = client, labels, prepared
        self._definition, self._folder = definition, folder
        self._audience, self._interrupt_after = audience, interrupt_after
        self._cluster = self._new_cluster()
        self._log: TextIO | None = None
        self.began = False  # whether a container was started
        self._left_open = ""
        self._ran = 0.0  # seconds in which containers ran, all attempts together

    def run(self) -> RehearsalResult:
        """Course to the end. Blocks.

        Raises:
            OSError: The outcome's folder cannot be written.
        """
        began = time.monotonic()
        self._folder.mkdir(parents=True, mode=0o700)
        (self._folder / "document.json").write_text(self._definition.text, encoding="utf-8")
        try:
            with (self._folder / "rehearsal.log").open("w", encoding="utf-8") as log:
                self._log = log
                last, end, restarts = self._attempts()
        except StartError as fault:
            return self._not_started(fault, time.monotonic() - began)
        return self._result(last, end, restarts, began)

    def _attempts(self) -> tuple[Attempt, AttemptEnd, tuple[str, ...]]:
        conduct = self._stage.conduct
        limit = conduct.max_runtime
        stop_at = time.monotonic() + limit if limit else None
        self._cluster.make_network()
        self._create()
        last, end = self._attempt(stop_at, self._interrupt_after)
        notes: list[str] = []
        interrupted, retries = end.kind == INTERRUPTED, 0
        while end.kind == INTERRUPTED or is_tried_again(end, conduct, retries):
            if end.kind == INTERRUPTED:
                notes.append(before_interruption(last.seen, end, conduct))
            else:
                retries += 1
                notes.append(tried_again(end, conduct, retries))
            self._audience.note(notes[-1])
            self._begin_again()
            last, end = self._attempt(stop_at, None)
        if interrupted:
            notes.append(after_interruption(last.seen))
        return last, end, tuple(notes)

    def _attempt(
        self, stop_at: float | None, interrupt_after: int | None
    ) -> tuple[Attempt, AttemptEnd]:
        watch = self._stage.expected.watch()
        # That this machine gives none is told as a deviation, before anything starts.
        watch.without_gpus = not self._stage.limits.devices
        running = Attempt(
            self._cluster,
            self._stage.containers,
            self._stage.conduct,
            self._line,
            stop_at,
            interrupt_after,
            watch,
        )
        self.began = True
        self._cluster.start(self._stage.conduct.start_apart)
        began = time.monotonic()
        end = running.run()
        self._ran += time.monotonic() - began
        return running, end

    def _begin_again(self) -> None:
        """New containers with nothing but the folders that the service keeps."""
        self._cluster.signal("SIGKILL")
        kept = carry_over(self._cluster, self._stage.containers, self._stage.work / "kept")
        self._cluster.remove()
        self._cluster = self._new_cluster()
        self._create()
        for container in self._stage.containers:
            if kept:
                self._cluster.put_files(container.name, kept)

    def _create(self) -> None:
        self._cluster.create()
        self._tell_left_open()
        for container in self._stage.sidecars:
            self._cluster.add_sidecar(container)

    def _new_cluster(self) -> Cluster:
        stage, isolated = self._stage, self._stage.conduct.isolated
        return Cluster(
            self._client, self._labels, stage.containers, stage.limits, isolated, stage.closed
        )

    def _tell_left_open(self) -> None:
        """Where the engine could not close what should be closed, the rehearsal goes on."""
        hosts = dict(self._cluster.left_open)
        if hosts and not self._left_open:
            name, reason = next(iter(hosts.items()))
            self._left_open = f"{', '.join(self._stage.closed)} stays open ({name}: {reason})"
            self._audience.note(self._left_open)

    @property
    def _deviations(self) -> tuple[str, ...]:
        """Those of the stage, and what only showed here."""
        more = (self._left_open,) if self._left_open else ()
        return (*self._stage.deviations, *more)

    def _line(self, line: LogLine, watch: JobWatch) -> None:
        line = without_secret(line, self._stage.expected.nonce)
        rank = "-" if line.rank is None else line.rank
        print(f"{line.time:.3f} [{line.host}/{rank}] {line.text}", file=self._log, flush=True)
        self._audience.line(line, watch)

    def _result(
        self, last: Attempt, end: AttemptEnd, restarts: tuple[str, ...], began: float
    ) -> RehearsalResult:
        stage, seen = self._stage, last.seen
        found = judged(end, seen, stage.expected, stage.containers, stage.conduct.max_runtime)
        collecting = time.monotonic()
        outputs = Outputs()
        if end.kind != ENGINE_LOST:
            self._cluster.signal("SIGKILL")  # the end is decided: the others at once
            outputs = self._collected(found)
        now = time.monotonic()
        failure = seen.watch.failure
        return RehearsalResult(
            id=self._labels.id,
            name=self._definition.name,
            state=found.state,
            reason=found.reason,
            proof=found.proof,
            expected=stage.expected,
            deviations=self._deviations,
            warnings=tuple(seen.causes.warnings) if not found.reason else (),
            seconds={
                "containers": collecting - began - self._ran,
                "job": self._ran,
                **seen.pauses,
                "collecting": now - collecting,
            },
            folder=self._folder,
            collected=outputs.folders,
            differences=tuple(outputs.differences),
            refused=tuple(outputs.refused),
            restarts=restarts,
            failure=failure,
            tail=tuple(_tail(last, end)),
            fix=found.fix,
            copies=copies_of(stage.containers, stage.expected, seen),
        )

    def _collected(self, found: Verdict) -> Outputs:
        """What the containers leave; where this machine has no room for it, how the job ended is
        said all the same, since nothing else will."""
        try:
            return collect_outputs(self._cluster, self._stage.containers, self._folder)
        except OSError:
            how = found.reason or found.proof
            self._audience.note(f"the job itself {_ENDED.get(found.state, found.state)}: {how}")
            raise

    def _not_started(self, fault: StartError, seconds: float) -> RehearsalResult:
        every = (*self._stage.containers, *self._stage.sidecars)
        image = next(one.image for one in every if one.name == fault.container)
        why = start_fault_of(self._client, image, str(fault))
        told = f"its image {image} does not serve: {why}" if why else str(fault)
        fix = f"`launch image check {image}` tells what it lacks" if why else ""
        if _FULL in str(fault):
            told, fix = f"the disk of this machine's engine is full: {fault}", _ROOM
        return RehearsalResult(
            id=self._labels.id,
            name=self._definition.name,
            state=FAILED,
            reason=f"{fault.container} did not start: {told}",
            fix=fix,
            proof="",
            expected=self._stage.expected,
            deviations=self._deviations,
            seconds={"containers": seconds},
            folder=self._folder,
        )


def _tail(last: Attempt, end: AttemptEnd) -> Sequence[str]:
    """The last lines of the rank that failed first, else of the container that decided."""
    watch, failure = last.seen.watch, last.seen.watch.failure
    if failure and failure.get("rank") is not None:
        return watch.tail(failure["rank"])
    if end.ending is None or end.ending.well:
        return ()
    return list(watch.tails.get((end.ending.container, None), ()))

"""Runs a job that a fake service accepted for real: in containers, by the rehearsal.

The code is what the launcher uploaded, fetched from the fake's own object store at the place that
the request names. What the containers print becomes the job's log as it is, mpirun's tags included,
each line in its host's stream; their exit codes become the job's end by the service's rules, which
know nothing of proofs. SageMaker's stand here, Vertex AI's in :mod:`tests.fakes.google_rehearsal`.
"""

from __future__ import annotations

import tarfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from launchers.core.model.document import at, document_text, entries
from launchers.core.model.jobs import TIMED_OUT, JobDefinition, LogLine
from launchers.core.output.lines import JobWatch
from launchers.core.roles import Contract
from launchers.docker.engine import engine
from launchers.rehearsal.course.course import Course
from launchers.rehearsal.course.outcome import RehearsalResult
from launchers.rehearsal.engine import leftovers
from launchers.rehearsal.engine.cluster import Cluster
from launchers.rehearsal.engine.labels import Labels
from launchers.rehearsal.engine.output import Event, Exit, Line
from launchers.rehearsal.engine.workplace import Workplace
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.staging.stage import Stage, stage
from launchers.sagemaker.launcher import SAGEMAKER
from tests.fakes.job_runs import runner_of
from tests.fakes.job_scenarios import Runner, Verdict
from tests.fakes.object_store import ObjectStore

# Takes a host's name and a line of its container.
Tell = Callable[[str, str], None]

# FailureReason's length in the service's model.
_LONGEST_REASON = 1024


def rehearsed(objects: ObjectStore, image: str, folder: Path, ranks_per_host: int) -> Runner:
    """A runner that rehearses every job of the fake service.

    Args:
        objects: The service's S3, which the code comes from.
        image: Runs instead of the request's, as ``--rehearsal-image`` does.
        folder: Where code and outcome go; the caller removes it.
        ranks_per_host: Must be the request's, so that the job's own world size is proven.
    """

    def tell(document: Mapping[str, Any], stop: threading.Event, line: Tell) -> Verdict:
        here = folder / str(document["TrainingJobName"])
        here.mkdir(parents=True)
        code = here / "sourcedir.tar.gz"
        stored = objects.get(code_place(document))
        assert stored is not None, "the code was not uploaded before the job was sent"
        code.write_bytes(stored.read())
        text = document_text(document)
        definition = JobDefinition(
            "sagemaker",
            str(document["TrainingJobName"]),
            int(document["Environment"]["LAUNCH_WORLD_SIZE"]),
            text,
            dict(document),
        )
        options = RehearsalOptions(image=image, source=str(code), ranks_per_host=ranks_per_host)
        ears = Ears(line, stop)
        result = play(SAGEMAKER.contract, definition, options, here, ears)
        return _verdict(result, ears.codes, here)

    return runner_of(tell)


def code_place(document: Mapping[str, Any]) -> str:
    """Where the request's channel ``code`` points."""
    (place,) = [
        at(channel, "DataSource", "S3DataSource", "S3Uri")
        for channel in entries(document, "InputDataConfig")
        if channel["ChannelName"] == "code"
    ]
    return str(place)


class Ears:
    """Hears the containers of one job: as its log, and to see how each ended.

    Attributes:
        stop: Set when the service is asked to end the job.
        codes: Container -> its exit code, once it has ended.
    """

    def __init__(self, line: Tell, stop: threading.Event):
        self._line, self.stop = line, stop
        self.codes: dict[str, int | None] = {}

    def take(self, event: Event | None) -> None:
        """One event; CloudWatch takes no event without a character."""
        if isinstance(event, Line) and event.text:
            self._line(event.container, event.text)
        elif isinstance(event, Exit):
            self.codes[event.container] = event.code


class _Overheard(Cluster):
    """Containers whose every event is heard before it is judged."""

    ears: Ears

    def next_event(self, timeout: float) -> Event | None:
        if self.ears.stop.is_set():
            # StopTrainingJob; the service waits 120 s before it does so, which nobody needs here.
            self.signal("SIGKILL")
        event = super().next_event(timeout)
        self.ears.take(event)
        return event


class _OverheardCourse(Course):
    def __init__(self, ears: Ears, *rest: Any):
        self._ears = ears
        super().__init__(*rest)

    def _new_cluster(self) -> Cluster:
        prepared = self._stage
        cluster = _Overheard(
            self._client,
            self._labels,
            prepared.containers,
            prepared.limits,
            prepared.conduct.isolated,
        )
        cluster.ears = self._ears
        return cluster


class _Nobody:
    """An audience that says nothing: the job's log is heard elsewhere."""

    def plan(self, prepared: Stage, labels: Labels) -> None:
        """See :class:`launchers.rehearsal.course.course.Audience`."""

    def note(self, text: str) -> None:
        """See :class:`launchers.rehearsal.course.course.Audience`."""

    def progress(self, label: str, done: int, total: int) -> None:
        """See :class:`launchers.rehearsal.course.course.Audience`."""

    def line(self, line: LogLine, watch: JobWatch) -> None:
        """See :class:`launchers.rehearsal.course.course.Audience`."""


def play(
    contract: Contract,
    definition: JobDefinition,
    options: RehearsalOptions,
    folder: Path,
    ears: Ears,
) -> RehearsalResult:
    """As :func:`launchers.rehearsal.run.rehearse`, overheard. Blocks until the job has ended.

    Args:
        options: Their source is the archive that the document's hash is of.
        folder: What is collected goes below ``outcome`` in it.
    """
    client = engine()
    labels = Labels.new(definition.name)
    workplace = Workplace(labels)
    try:
        workplace.make()
        prepared = stage(contract, definition, None, options, client, workplace, _Nobody())
        assert not [text for text in prepared.deviations if "another than the bundle" in text]
        assert prepared.expected.world_size == prepared.expected.document_world_size
        play = _OverheardCourse(
            ears, client, labels, prepared, definition, folder / "outcome", _Nobody()
        )
        result = play.run()
    finally:
        left = leftovers.remove_all(client, labels)
        workplace.remove()
        client.close()
    assert not left
    return result


def _verdict(result: RehearsalResult, codes: Mapping[str, int | None], folder: Path) -> Verdict:
    """The end by the exit codes alone: one host that fails fails the job."""
    model = _packed(result.collected.get("model of algo-1"), folder)
    if result.state == TIMED_OUT:
        return Verdict("MaxRuntimeExceeded", model=model)
    bad = {host: code for host, code in codes.items() if code != 0}
    if codes and not bad:
        return Verdict("Completed", model=model)
    host, code = next(iter(bad.items()), ("algo-1", None))
    return Verdict("Failed", _failure_reason(result, host, code), model)


def _failure_reason(result: RehearsalResult, host: str, code: int | None) -> str:
    """What the container left in /opt/ml/output/failure, in the service's words."""
    output = result.collected.get(f"output of {host}")
    file = output / "failure" if output else None
    told = file.read_text(errors="replace") if file and file.is_file() else result.reason
    return f"AlgorithmError: {told}, exit code: {code}"[:_LONGEST_REASON]


def _packed(model: Path | None, folder: Path) -> Path | None:
    """The model as the service stores it."""
    if model is None:
        return None
    path = folder / "model.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for item in sorted(model.iterdir()):
            archive.add(item, item.name)
    return path

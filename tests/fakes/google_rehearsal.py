"""Runs a CustomJob that the fake Vertex AI accepted for real (:mod:`tests.fakes.rehearsal_runner`).

The service ends a job when its primary replica ends, well or not; a replica that fails otherwise
fails it, too.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.core.model.document import at, document_text
from launchers.core.model.jobs import TIMED_OUT, JobDefinition
from launchers.rehearsal.course.outcome import RehearsalResult
from launchers.rehearsal.options import RehearsalOptions
from launchers.vertex.document import bundle_place
from launchers.vertex.launcher import VERTEX
from tests.fakes.google_scenarios import VertexVerdict, exit_message
from tests.fakes.google_storage import GoogleObjects
from tests.fakes.job_runs import runner_of
from tests.fakes.job_scenarios import Runner
from tests.fakes.rehearsal_runner import Ears, Tell, play

_PRIMARY = "workerpool0-0"
# google.rpc.Code.DEADLINE_EXCEEDED
_DEADLINE_EXCEEDED = 4


def rehearsed(objects: GoogleObjects, image: str, folder: Path, ranks_per_host: int) -> Runner:
    """A runner that rehearses every job of the fake service.

    Args:
        objects: The service's Cloud Storage, which the code comes from and the model goes to.
        image: Runs instead of the request's, as ``--rehearsal-image`` does.
        folder: Where code and outcome go; the caller removes it.
        ranks_per_host: Must be the request's, so that the job's own world size is proven.
    """

    def tell(document: Mapping[str, Any], stop: threading.Event, line: Tell) -> VertexVerdict:
        name = str(document["displayName"])
        here = folder / name
        here.mkdir(parents=True)
        stored = objects.get(bundle_place(document))
        assert stored is not None, "the code was not uploaded before the job was sent"
        code = here / "sourcedir.tar.gz"
        code.write_bytes(stored.read())
        size = int(document["labels"]["launch-world-size"])
        definition = JobDefinition("vertex", name, size, document_text(document), dict(document))
        options = RehearsalOptions(image=image, source=str(code), ranks_per_host=ranks_per_host)
        ears = Ears(line, stop)
        result = play(VERTEX.contract, definition, options, here, ears)
        _store(objects, document, result)
        return _verdict(result, ears.codes)

    return runner_of(tell)


def _store(objects: GoogleObjects, document: Mapping[str, Any], result: RehearsalResult) -> None:
    """What the ranks wrote below the mount is in the bucket from then on."""
    output = str(at(document, "jobSpec", "baseOutputDirectory", "outputUriPrefix")).rstrip("/")
    for name, folder in result.collected.items():
        place = f"{output}/{name.partition(' ')[0]}"
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                objects.put(f"{place}/{path.relative_to(folder)}", path.read_bytes())


def _verdict(result: RehearsalResult, codes: Mapping[str, int | None]) -> VertexVerdict:
    """The end by the exit codes alone."""
    if result.state == TIMED_OUT:
        return VertexVerdict("FAILED", "The job ran for too long.", code=_DEADLINE_EXCEEDED)
    bad = {replica: code for replica, code in codes.items() if code != 0}
    if _PRIMARY in codes and _PRIMARY not in bad:
        return VertexVerdict("SUCCEEDED")
    replica, code = next(iter(bad.items()), (_PRIMARY, 1))
    return VertexVerdict("FAILED", exit_message("1", "1", replica, code or 1))

"""How far a job's training is: read of its newest lines, kept where the job has ended."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from launchers.cli.show.as_json import training_as_json, training_of_json
from launchers.core.model.jobs import PENDING, JobHandle, JobStatus
from launchers.core.model.problems import LaunchError
from launchers.core.output.training_progress.state import Progress, TrainingProgress
from launchers.core.provider import Provider
from launchers.core.records.entry import INTENT
from launchers.core.records.ledger import Ledger

# What `launch status` waits for the newest lines at the most, in seconds.
_SECONDS = 5.0
_KEPT = "progress"


@dataclass
class Training:
    """What is known of a job's training.

    Attributes:
        progress: None where its lines tell nothing of one.
        unreadable: Why its lines could not be read; empty where they were.
    """

    progress: Progress | None = None
    unreadable: str = ""


def training_of(chosen: Provider, handle: JobHandle, status: JobStatus) -> Training:
    """How far a job's training is, by its newest lines. Blocks for a few seconds at the most, and
    raises nothing: what cannot be read is said.

    Of a job that has ended it is read once, and kept in the ledger.
    """
    if status.state in (INTENT, PENDING):
        return Training()
    if status.final and _KEPT in status.details:
        return Training(training_of_json(status.details[_KEPT]))
    found = Training(unreadable=f"no answer within {_SECONDS:g} s")

    def read() -> None:
        seen = TrainingProgress()
        try:
            for line in chosen.service.newest_lines(handle):
                seen.see(line)
        except LaunchError as error:
            found.unreadable = error.problems[0].found or error.problems[0].expected
        except Exception as error:  # a service's answer of another form than it has
            found.unreadable = str(error) or type(error).__name__
        else:
            found.progress, found.unreadable = seen.progress, ""

    # A thread that still waits for an answer does not keep the command from ending.
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    result = Training(found.progress, found.unreadable)
    if status.final and not result.unreadable:
        keep_training(chosen, handle, result.progress)
    return result


def keep_training(chosen: Provider, handle: JobHandle, progress: Progress | None) -> None:
    """Keep the last progress of a job that has ended, so that nobody has to be asked again."""
    if not chosen.charges_money:
        return  # its lines lie here
    ledger = Ledger()
    entry = ledger.get(handle.provider, handle.name)
    if entry is not None and entry.final:
        told = training_as_json(progress) if progress is not None else None
        with suppress(LaunchError):  # on a full disk it is asked for again
            ledger.note(entry, _KEPT, told)


def now_for(status: JobStatus) -> float | None:
    """The moment for which time left is told; None for a job that has ended."""
    return None if status.final else time.time()

"""What the verbs on existing jobs share: finding the job and asking its provider."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion import values
from launchers.core.model.jobs import PENDING, JobHandle, JobStatus
from launchers.core.model.problems import LaunchError
from launchers.core.printable import is_utf8
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.registry import PROVIDERS, provider

if TYPE_CHECKING:
    from launchers.core.provider import Provider

# What `launch list` waits for the providers' answers at the most, in seconds.
_LIST_SECONDS = 5.0
_MOST_AT_ONCE = 64


def region_flag(function: Any) -> Any:
    """The ``--region`` of a job from elsewhere."""
    text = "Where a job from elsewhere runs (sagemaker:NAME, vertex:ID)."
    return click.option(
        "--region", "--location", metavar="REGION", help=text, shell_complete=values.regions
    )(function)


def found_job(word: str, region: str | None = None) -> tuple[Provider, Entry]:
    """The provider and the ledger's entry of the job that ``word`` means.

    ``PROVIDER:NAME`` may be a job that the ledger does not know: then the entry is made up of
    what finds the job.

    Raises:
        LaunchError: No job, or several, of that name.
    """
    where, colon, name = word.partition(":")
    elsewhere = colon and where in PROVIDERS and is_utf8(name)
    if elsewhere and (entry := Ledger().get(where, name)) is None:
        chosen = _speaking(provider(where))
        handle = chosen.service.adopt(name, region)
        if handle is None:
            raise LaunchError(RULES["job-unknown"].at("JOB", word, "a job of `launch list`"))
        return chosen, Entry(name, where, name, 1, 0, "", state=PENDING, details=handle.details)
    entry = Ledger().find(word)
    if entry.damaged:
        found, expected = (
            f"damaged in the ledger: {entry.damaged}",
            "a row that is whole",
        )
        fix = f"{entry.provider or 'PROVIDER'}:NAME asks the service itself"
        raise LaunchError(RULES["job-unknown"].at("JOB", found, expected, fix))
    return _speaking(provider(entry.provider)), entry


def _speaking(chosen: Provider) -> Provider:
    if chosen.charges_money:
        from launchers.cli.show.narrator import Narrator

        chosen = chosen.heard_by(Narrator())
    return chosen


def word_for(handle: JobHandle) -> str:
    """How a command names the job."""
    if Ledger().get(handle.provider, handle.name) is not None:
        return handle.name
    region = handle.details.get("region")
    return f"{handle.provider}:{handle.name}" + (f" --region {region}" if region else "")


def statuses_of(entries: list[Entry]) -> list[JobStatus]:
    """Where jobs stand; asks a provider only for those that have not ended.

    All are asked at once and not for long: what has not answered by then stands as the ledger has
    it, and says so.
    """
    found: dict[int, JobStatus] = {}
    asked: queue.SimpleQueue[tuple[int, Entry]] = queue.SimpleQueue()

    def ask(index: int, entry: Entry) -> None:
        try:
            found[index] = provider(entry.provider).service.describe(entry.handle)
        except LaunchError as error:
            found[index] = _as_known(entry, str(error).splitlines()[0])
        except Exception as error:  # of a row that is odd, or a service's answer: one of many
            found[index] = _as_known(entry, f"it cannot be asked for: {error!r}")

    def ask_all() -> None:
        with suppress(queue.Empty):
            while True:
                ask(*asked.get_nowait())

    for index, entry in enumerate(entries):
        if entry.damaged:
            found[index] = _as_known(entry, f"damaged there: {entry.damaged}")
        elif entry.final:
            found[index] = JobStatus(entry.state, entry.reason, entry.proof, entry.details)
        elif entry.provider not in PROVIDERS:
            found[index] = _as_known(entry, "this launch does not know its provider")
        elif provider(entry.provider).charges_money:
            asked.put((index, entry))
        else:
            ask(index, entry)
    # A thread that still waits for an answer does not keep the command from ending.
    waiting = [
        threading.Thread(target=ask_all, daemon=True)
        for _ in range(min(asked.qsize(), _MOST_AT_ONCE))
    ]
    for thread in waiting:
        thread.start()
    deadline = time.monotonic() + _LIST_SECONDS
    for thread in waiting:
        thread.join(max(0.0, deadline - time.monotonic()))
    # The service, or this machine, which loads its SDK first.
    late = f"no answer within {_LIST_SECONDS:g} s"
    return [found.get(index) or _as_known(entry, late) for index, entry in enumerate(entries)]


def _as_known(entry: Entry, why: str) -> JobStatus:
    """What the ledger has, where nobody else could be asked."""
    return JobStatus(entry.state, f"as of the ledger; {why}", entry.proof, entry.details)

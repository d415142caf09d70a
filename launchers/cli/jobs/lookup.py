"""What the verbs on existing jobs share: finding the job and asking its provider."""

from __future__ import annotations

import threading
import time
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.core.model.jobs import PENDING, JobStatus
from launchers.core.model.problems import LaunchError
from launchers.core.provider import Provider
from launchers.core.records.ledger import Entry, Ledger
from launchers.core.registry import PROVIDERS, provider

# What `launch list` waits for the providers' answers at the most, in seconds.
_LIST_SECONDS = 5.0


def region_flag(function: Any) -> Any:
    """The ``--region`` of a job from elsewhere."""
    text = "Where a job from elsewhere runs (sagemaker:NAME, vertex:ID)."
    return click.option("--region", "--location", metavar="REGION", help=text)(function)


def found_job(word: str, region: str | None = None) -> tuple[Provider, Entry]:
    """The provider and the ledger's entry of the job that ``word`` means.

    ``PROVIDER:NAME`` may be a job that the ledger does not know: then the entry is made up of
    what finds the job.

    Raises:
        LaunchError: No job, or several, of that name.
    """
    where, colon, name = word.partition(":")
    if colon and where in PROVIDERS and (entry := Ledger().get(where, name)) is None:
        chosen = _speaking(provider(where))
        handle = chosen.service.adopt(name, region)
        if handle is None:
            raise LaunchError(RULES["job-unknown"].at("JOB", word, "a job of `launch list`"))
        return chosen, Entry(name, where, name, 1, 0, "", state=PENDING, details=handle.details)
    entry = Ledger().find(word)
    return _speaking(provider(entry.provider)), entry


def _speaking(chosen: Provider) -> Provider:
    if chosen.charges_money:
        from launchers.cli.show.narrator import Narrator

        chosen = chosen.heard_by(Narrator())
    return chosen


def statuses_of(entries: list[Entry]) -> list[JobStatus]:
    """Where jobs stand; asks a provider only for those that have not ended.

    All are asked at once and not for long: what has not answered by then stands as the ledger has
    it, and says so.
    """
    found: dict[int, JobStatus] = {}

    def ask(index: int, entry: Entry) -> None:
        try:
            found[index] = provider(entry.provider).service.describe(entry.handle)
        except LaunchError as error:
            reason = f"as of the ledger; {str(error).splitlines()[0]}"
            found[index] = JobStatus(entry.state, reason, entry.proof, entry.details)

    waiting = []
    for index, entry in enumerate(entries):
        if provider(entry.provider).charges_money and not entry.final:
            # A thread that still waits for an answer does not keep the command from ending.
            thread = threading.Thread(target=ask, args=(index, entry), daemon=True)
            thread.start()
            waiting.append(thread)
        else:
            ask(index, entry)
    deadline = time.monotonic() + _LIST_SECONDS
    for thread in waiting:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = "as of the ledger; the service did not answer in time"
    return [
        found.get(index) or JobStatus(entry.state, late, entry.proof, entry.details)
        for index, entry in enumerate(entries)
    ]

"""What the verbs on existing jobs share: finding the job and asking its provider."""

from __future__ import annotations

from launchers.core.ledger import Entry, Ledger
from launchers.core.provider import JobStatus, Provider, provider


def found_job(word: str) -> tuple[Provider, Entry]:
    """The provider and the ledger's entry of the job that ``word`` means.

    Raises:
        LaunchError: No job, or several, of that name.
    """
    entry = Ledger().find(word)
    return provider(entry.provider), entry


def status_of(entry: Entry) -> JobStatus:
    """Where a job stands; asks its provider only while it has not ended."""
    return provider(entry.provider).describe(entry.handle)

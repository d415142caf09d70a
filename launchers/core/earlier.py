"""The last job of the same command: which it was, and what makes this one another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from launchers.core.model.jobs import JobDefinition
from launchers.core.planning.plan import Plan
from launchers.core.provider import Provider
from launchers.core.records.commands import Last, commands_of, last_of, note
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger


def unlike_last(
    provider: Provider, plan: Plan, base: str, identity: Mapping[str, Any]
) -> tuple[str, ...]:
    """Lines that say what differs from the last job of the same command; empty where that has the
    same digest, or there is none. Reads the ledger, and the source's files where there is one.

    A job that nobody charges for is a new run each time, and nothing is said of it.

    Args:
        base: The job's name without its run number.
        identity: What makes the document this job and no other.
    """
    if not provider.charges_money:
        return ()
    commands = _commands(plan)
    last = last_of(Ledger(), commands)
    if last is None or last.base.rpartition("-")[2] == base.rpartition("-")[2]:
        return ()
    found = _differing(provider, plan, last, identity)
    what = "script" if last.command == commands[-1] else "command"
    return (f"from {last.name}, the last job of this {what}", *found) if found else ()


def note_command(provider: Provider, plan: Plan, entry: Entry) -> None:
    """Keep ``entry`` in the ledger as what the command made last."""
    if provider.charges_money:
        from launchers.core.differences.files import digests

        note(Ledger(), _commands(plan), entry, digests(plan.source.bundle).packed())


def _commands(plan: Plan) -> tuple[str, ...]:
    folder = str(plan.source.folder.resolve())
    return commands_of(plan.job, folder, plan.source.program)


def _differing(
    provider: Provider, plan: Plan, last: Last, identity: Mapping[str, Any]
) -> list[str]:
    from launchers.core.differences.fields import differing_fields
    from launchers.core.differences.files import differing_files, digests, unpacked

    before, now = unpacked(last.files), digests(plan.source.bundle)
    lines = list(differing_files(before, now, plan.source.shared)) if before else []
    # Where the code lies follows from the source.
    text = last.definition.replace(before.sha256, now.sha256) if before else last.definition
    earlier = _identity(provider, last.name, text)
    if earlier is None or before is None:
        return lines
    unknown = {one.value for one in plan.placeholders}
    fields = differing_fields(earlier, identity, unknown)
    if not lines and not fields.lines and not fields.unknown:
        return ["launch itself: another version, which names jobs in another way"]
    return [*lines, *fields.lines]


def _identity(provider: Provider, name: str, text: str) -> Mapping[str, Any] | None:
    """What made an earlier job that job; None of a document in which it cannot be found."""
    try:
        document = json.loads(text)
        return provider.definer.identity(JobDefinition(provider.name, name, 0, text, document))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return None

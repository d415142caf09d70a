"""How a job ended whose supervisor is gone."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

from launchers.core.model.jobs import LOST, STOPPED, STOPPING
from launchers.core.model.problems import LaunchError
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.machine.supervised import elsewhere
from launchers.machine.supervised.kept import result_of


def settled(entry: Entry, ledger: Ledger) -> Entry:
    """A job whose supervisor is gone, with its end; the ledger keeps it if it can."""
    if entry.final:
        return entry
    told: dict[str, Any]
    result, host = result_of(entry.details), elsewhere.host_of(entry.details)
    reason = "its supervisor ended without a word (killed, or the machine was restarted)"
    if host:
        reason = elsewhere.why_lost(entry.details, entry.created)
    if result:
        told = {key: str(result.get(key) or "") for key in ("state", "reason", "proof")}
    elif not reason:
        return replace(entry, reason=f"on {host}: only there can be seen whether it still runs")
    elif entry.state == STOPPING:
        told = {"state": STOPPED, "reason": "stopped by its user"}
    else:
        told = {"state": LOST, "reason": reason}
    with contextlib.suppress(LaunchError):  # a full disk hides no end
        ledger.update(entry, **told)
        return ledger.get(entry.provider, entry.name) or entry
    return replace(entry, **told)

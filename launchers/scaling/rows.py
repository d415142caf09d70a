"""From the runs of a study to its rows: equal runs together, each row with what they measured."""

from __future__ import annotations

from collections.abc import Iterable

from launchers.scaling.measures import filled
from launchers.scaling.records import Record
from launchers.scaling.results import Row, Run, Size, Study


def rows_of(runs: Iterable[Run]) -> tuple[Row, ...]:
    """A row a size, variant by variant in the order of the first runs, each from small to large."""
    together: dict[Size, list[Run]] = {}
    variants: dict[tuple[tuple[str, str], ...], int] = {}
    for run in runs:
        together.setdefault(run.size, []).append(run)
        variants.setdefault(run.size.variant, len(variants))
    rows = [
        Row(size, found[0].world_size, tuple(sorted(found, key=lambda run: run.repeat)))
        for size, found in together.items()
    ]
    rows.sort(
        key=lambda row: (
            variants[row.size.variant],
            row.world_size,
            row.size.instances,
            row.size.gpus or 0,
        )
    )
    return filled(rows)


def study_of(record: Record) -> Study:
    """What the record says so far, as a report shows it."""
    loads = [run.load for run in record.runs if run.load is not None]
    return Study(
        name=record.name,
        command=record.command,
        provider=record.settings.get("provider", ""),
        machine=record.machine,
        begun=record.begun,
        batch=record.settings.get("--batch", ""),
        rows=rows_of(record.runs),
        load=(min(loads), max(loads)) if loads else None,
        cores=record.cores,
        changed=record.changed,
    )

"""A study as JSON and CSV: all that was measured, for programs and spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from launchers.core.printable import printable_json
from launchers.scaling import measures
from launchers.scaling.records import RESULTS_CSV, RESULTS_JSON, write_whole
from launchers.scaling.results import Row, Run, Study
from launchers.scaling.running import is_done

# A run's own figures in the CSV, behind what says which run it is.
_FIGURES: dict[str, Callable[[Run], float | None]] = {
    "epoch_seconds": measures.epoch_seconds,
    "images_per_second": measures.images_per_second,
    "loss": measures.training_loss,
    "accuracy": measures.training_accuracy,
    "validation_loss": measures.loss,
    "validation_accuracy": measures.accuracy,
    "cost": lambda run: run.cost,
    "load": lambda run: run.load,
}
# The columns before what is compared, and those behind it.
_WHERE = ("world_size", "instances", "processes", "gpus")
_HOW = ("repeat", "job", "state", "reason", "epochs", "speed_up", *_FIGURES)
# By what a spreadsheet knows a formula, but for a plain number.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def study_as_json(
    study: Study, verdict: Sequence[str], folder: Path, files: Sequence[Path]
) -> dict[str, Any]:
    """The study as ``--json`` and results.json have it.

    Args:
        folder: Where it lies.
        files: All that was written there of it.
    """
    return {
        "name": study.name,
        "folder": str(folder),
        "files": [str(path) for path in files],
        "command": study.command,
        "provider": study.provider,
        "machine": study.machine,
        "cores": study.cores,
        "begun": study.begun,
        "batch": study.batch,
        "load": list(study.load) if study.load else None,
        "finished": all(is_done(run) for row in study.rows for run in row.runs),
        "verdict": list(verdict),
        "rows": [_row(row) for row in study.rows],
    }


def write_results(
    study: Study, verdict: Sequence[str], folder: Path, report: Sequence[Path]
) -> dict[str, Any]:
    """results.json and results.csv in the folder, each whole; gives what the first one holds.

    Args:
        report: The files of the report, which are there.

    Raises:
        LaunchError: One of them cannot be written.
    """
    as_json, as_csv = folder / RESULTS_JSON, folder / RESULTS_CSV
    value = study_as_json(study, verdict, folder, [as_json, as_csv, *report])
    write_whole(as_csv, study_as_csv(study))
    write_whole(as_json, printable_json(value, indent=2) + "\n")
    return value


def study_as_csv(study: Study) -> str:
    """A line a run, with a column for each name that is compared; empty cells for what is not
    known."""
    names = list(dict.fromkeys(name for row in study.rows for name, _ in row.size.variant))
    # `--compare epochs=5,10` is no count of what a run said: no two columns have one name.
    ours = {*_WHERE, *_HOW}
    told = [f"compared {name}" if name in ours else name for name in names]
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*_WHERE, *told, *_HOW])
    for row in study.rows:
        base = measures.base_of(row, study.rows)
        both = measures.pairs(row, base) if base else []
        ratios = dict(zip((run.repeat for run, _ in both), measures.speed_ups(both), strict=True))
        for run in row.runs:
            size, variant = run.size, dict(run.size.variant)
            where = [run.world_size, size.instances, size.processes, size.gpus]
            compared = [variant.get(name, "") for name in names]
            figures = [figure(run) for figure in _FIGURES.values()]
            cells = [*where, *compared, run.repeat, run.job, run.state, run.reason]
            said = [len(run.epochs), ratios.get(run.repeat), *figures]
            lines.writerow([_cell(one) for one in (*cells, *said)])
    return text.getvalue()


def _cell(value: Any) -> Any:
    """As it is; a text that a spreadsheet would take for a formula is one no more."""
    if value is None:
        return ""
    if isinstance(value, str) and value[:1] in _FORMULA and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return f"{value:.6g}" if isinstance(value, float) else value


def _row(row: Row) -> dict[str, Any]:
    found = asdict(row)
    size = found.pop("size")
    return {**size, "variant": dict(row.size.variant), **found, "runs": [_run(r) for r in row.runs]}


def _run(run: Run) -> dict[str, Any]:
    found = asdict(run)
    for name in ("size", "world_size"):
        del found[name]
    return {**found, "epochs": [asdict(epoch) for epoch in run.epochs]}

"""The table of a study, and that of the runs that are to be: cells as texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from launchers.core.model.jobs import SUCCEEDED
from launchers.core.planning.plan import Plan
from launchers.core.spec.value_types import format_duration
from launchers.scaling.costs import machine_hours
from launchers.scaling.planned import Planned
from launchers.scaling.results import Row, Run, Size, Spread
from launchers.scaling.running import is_done

UNKNOWN = "-"
COMPARED, RUNS = "COMPARED", "RUNS"
# What may give way on a narrow terminal, the first one first.
MAY_GO = (
    *("LOSS", "VAL LOSS", "COST", "ACCURACY", "IMAGES/S", "EFFICIENCY"),
    *("S/EPOCH", "SIZE", "VAL ACCURACY"),
)
_COLUMNS = (
    *("WORLD", "SIZE", COMPARED, RUNS, "S/EPOCH", "IMAGES/S", "SPEED-UP", "EFFICIENCY"),
    *("LOSS", "ACCURACY", "VAL LOSS", "VAL ACCURACY", "COST"),
)


def study_table(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells; a spread is its median with the lowest and the highest behind it, and
    what no run said is a dash. Columns in which nobody says anything are left out but for those
    that every study is asked about."""
    cells = [_cells(row) for row in rows]
    may_lack = {COMPARED, "COST"}
    kept = [
        index
        for index, name in enumerate(_COLUMNS)
        if name not in may_lack or any(one[index] not in ("", UNKNOWN) for one in cells)
    ]
    return (
        tuple(_COLUMNS[index] for index in kept),
        [tuple(one[index] for index in kept) for one in cells],
    )


def failures(rows: Iterable[Row]) -> list[tuple[Row, Run]]:
    """Every run that ended without success, with its row."""
    return [
        (row, run) for row in rows for run in row.runs if is_done(run) and run.state != SUCCEEDED
    ]


def size_text(size: Size) -> str:
    """``2 x 4``: hosts and ranks of each; with the GPUs of a host where the study names them."""
    gpus = f", {size.gpus} GPU{'s' * (size.gpus != 1)}" if size.gpus is not None else ""
    return f"{size.instances} x {size.processes}{gpus}"


def compared_text(size: Size) -> str:
    """``lr-scaling=linear sync=average:4``."""
    return " ".join(f"{name}={value}" for name, value in size.variant)


def _cells(row: Row) -> tuple[str, ...]:
    done = sum(run.state == SUCCEEDED for run in row.runs)
    return (
        str(row.world_size),
        size_text(row.size),
        compared_text(row.size),
        f"{done}/{len(row.runs)}",
        _spread(row.epoch_seconds, _seconds),
        _spread(row.images_per_second, lambda value: f"{value:.0f}"),
        _spread(row.speed_up, lambda value: f"{value:.2f}"),
        _spread(row.efficiency, lambda value: f"{value:.2f}"),
        _spread(row.loss, lambda value: f"{value:.4f}"),
        _spread(row.accuracy, lambda value: f"{value:.4f}"),
        _spread(row.validation_loss, lambda value: f"{value:.4f}"),
        _spread(row.validation_accuracy, lambda value: f"{value:.4f}"),
        _spread(row.cost, _dollars),
    )


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _dollars(value: float) -> str:
    """Four decimals below a cent, so that what was paid for is not free."""
    return f"{value:.2f} USD" if value >= 0.01 or not value else f"{value:.4f} USD"


def _spread(found: Spread | None, text: object) -> str:
    if found is None:
        return UNKNOWN
    assert callable(text)
    if found.count == 1:
        return str(text(found.median))
    low, high = text(found.low), text(found.high)
    if low == high:
        return str(low)
    return f"{text(found.median)} ({low}-{high})"


def plan_table(
    runs: Sequence[Planned], paid: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The runs that are to be, in the order in which they start.

    Args:
        paid: Whether their machines are, so that these and their hours at most are shown.
    """
    columns = ["JOB", "WORLD", "SIZE", COMPARED, "REPEAT"]
    if paid:
        columns += ["MACHINES", "HOURS AT MOST"]
    rows = []
    for run in runs:
        cells = [
            run.plan.name,
            str(run.plan.world_size),
            size_text(run.size),
            compared_text(run.size) or UNKNOWN,
            str(run.repeat),
        ]
        if paid:
            cells += [machines_text(run.plan), hours_text(machine_hours(run.plan))]
        rows.append(tuple(cells))
    return tuple(columns), rows


def machines_text(plan: Plan) -> str:
    """``2 x ml.g5.12xlarge``."""
    return f"{plan.instances} x {plan.machine_name or '?'}"


def hours_text(hours: float | None) -> str:
    """``48``, ``0.25``; a dash where nothing limits them."""
    return UNKNOWN if hours is None else f"{hours:.3g}" if hours < 100 else f"{hours:.0f}"


def limit_text(plan: Plan) -> str:
    """The time limit of one job."""
    return UNKNOWN if plan.time_limit is None else format_duration(plan.time_limit)

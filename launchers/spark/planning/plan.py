"""A job on Spark as its plan is shown: one row a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from launchers.core.paths import is_elsewhere
from launchers.core.planning.plan import Row, counted
from launchers.core.planning.rows import (
    checkpoints_row,
    proof_row,
    secrets_rows,
    source_rows,
)
from launchers.core.spec.value_types import format_duration
from launchers.spark.options import SLOTS, START
from launchers.spark.planning.request import Request

KINDS = {
    "local": "in the driver's own process",
    "local-cluster": "worker processes of this machine",
    "standalone": "a standalone cluster",
    "yarn": "YARN",
    "kubernetes": "Kubernetes",
}


@dataclass(frozen=True, kw_only=True)
class SparkPlan(Request):
    """A job with every default decided."""

    def _rows(self) -> Sequence[Row]:
        return _rows_of(self)


def _rows_of(plan: SparkPlan) -> list[Row]:
    """One row a decision."""
    job, limit = plan.job, plan.job.max_runtime
    strategy = plan.strategy.strategy
    where = "in the cluster" if plan.in_cluster else plan.python.described(strategy)
    origin = "--deploy-mode" if plan.in_cluster else f"{plan.python.path}, {plan.python.origin}"
    limit_rows = [Row("time limit", format_duration(limit), "--max-runtime")] if limit else []
    given = ", ".join(job.options.conf)
    return [
        Row("ranks", plan.layout, "--instances, --processes"),
        proof_row(plan),
        Row("master", f"{plan.master.text}, {KINDS[plan.master.kind]}", "--master"),
        *_size_rows(plan),
        *source_rows(plan),
        *plan.keras.rows,
        Row("driver", where, origin),
        Row(
            "workers",
            f"{plan.worker_python.path}, asked before any rank starts",
            plan.worker_python.origin,
        ),
        *([Row("archives", _archives(plan), "--archive")] if plan.archives else []),
        Row("spark", f"Spark {plan.spark.version or '?'}, {plan.spark.path}", plan.spark.origin),
        *plan.strategy.rows,
        Row("GPUs", *_gpus(plan)),
        *_requirements_rows(plan),
        *([Row("conf", given, "--conf")] if given else []),
        Row("set by us", f"{len(plan.conf) - len(job.options.conf)} properties", "in the document"),
        *secrets_rows(plan),
        *limit_rows,
        _seen(plan, checkpoints_row(plan, plan.checkpoints)),
        _seen(plan, Row("output", str(plan.folder.path), _output(plan))),
    ]


def _size_rows(plan: SparkPlan) -> list[Row]:
    executors, waits = plan.executors, plan.waits
    each = f"{counted(executors.cores, 'core')}, {counted(executors.processes, 'slot')}"
    slots = f"{plan.world_size}, waited for {format_duration(waits[SLOTS])}"
    start = f"Horovod's ranks {format_duration(waits[START])} to start"
    text = f"{slots}; {start}" if START in plan.job.options.limits else slots
    said = "--limit" if plan.job.options.limits else ""
    return [
        Row("executors", f"{executors.instances} x ({each})", "tried once, no dynamic allocation"),
        Row("slots", text, said),
    ]


def _archives(plan: SparkPlan) -> str:
    return ", ".join(f"{one.place} as ./{one.name}" for one in plan.archives)


def _gpus(plan: SparkPlan) -> tuple[str, str]:
    if not plan.gpus:
        return "none, ranks run on the CPU", "--gpus"
    given = "--gpus" if plan.job.gpus is not None else ""
    text = f"{plan.gpus} an executor, one a rank, pinned by {plan.pinning.by}"
    return text, ", ".join(filter(None, (given, plan.pinning.why)))


def _requirements_rows(plan: SparkPlan) -> list[Row]:
    if not plan.source.has_requirements:
        return []
    why = "requirements.txt was found; executors have what --archive or their machine has"
    return [Row("requirements", "none", why)]


def _output(plan: SparkPlan) -> str:
    return "model, logs, --output-path" if plan.job.output_path else "model, logs"


def _seen(plan: SparkPlan, row: Row) -> Row:
    """What ranks write must lie where every executor can."""
    if plan.master.kind in ("local", "local-cluster") or is_elsewhere(row.text):
        return row
    return Row(row.label, f"{row.text}, which every executor must see", row.origin)

"""What Airflow's operators for SageMaker take and give: the request is the operator's ``config``,
and lies under ``Training`` where it comes with a model or a transform job, or as its answer.

Source: the Amazon provider of Apache Airflow, operators/sagemaker.py; `training_config` of the
SageMaker SDK (workflow/airflow.py), which adds ``S3Operations``; DAG files of dag-factory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from launchers.core.wrappings.places import Places, joined
from launchers.core.wrappings.spec import Look, Spec, Wrapping
from launchers.core.wrappings.texts import matching, with_unknowns
from launchers.sagemaker.wrappings.requests import is_request, request

_TEMPLATE = matching(r"\{\{.*\}\}|\{%.*%\}")
_UPLOADS = "S3Operations"
_OPERATORS = ("SageMakerTrainingOperator", "SageMakerTuningOperator")
_NAMED_BY = ("operator", "_operator_name", "task_type", "_task_type")


class Airflow(Wrapping):
    """An operator's configuration, its answer, or the tasks of a DAG's file."""

    def specs(self, node: Mapping[str, Any], place: str, look: Look) -> Sequence[Spec] | None:
        """See :class:`launchers.core.wrappings.spec.Wrapping`."""
        if is_request(node):
            return self._with_uploads(node, place)
        parts: list[tuple[str, Any]] = [
            (joined(place, key), node[key])
            for key in ("Training", "Tuning")
            if isinstance(node.get(key), Mapping)
        ]
        operator = any(str(node.get(key, "")).endswith(_OPERATORS) for key in _NAMED_BY)
        if operator and isinstance(node.get("config"), Mapping):
            parts.append((joined(place, "config"), node["config"]))
        parts += _tasks(node, place)
        found = [
            spec
            for where, part in parts
            for spec in look(with_unknowns(part, _TEMPLATE), where) or ()
        ]
        return found or None

    @staticmethod
    def _with_uploads(node: Mapping[str, Any], place: str) -> Sequence[Spec] | None:
        if _UPLOADS not in node:
            return None
        document = {key: value for key, value in node.items() if key != _UPLOADS}
        known = with_unknowns(document, _TEMPLATE)
        return [request(known, Places(place), "a configuration of Airflow")]


def _tasks(node: Mapping[str, Any], place: str) -> Iterable[tuple[str, Any]]:
    """The operators of a DAG, or of each DAG in a file of dag-factory."""
    tasks = node.get("tasks")
    if isinstance(tasks, Mapping):
        for name, task in tasks.items():
            yield joined(place, "tasks", str(name)), task
    elif isinstance(tasks, list):
        for index, task in enumerate(tasks):
            yield joined(place, "tasks", index), task
    else:
        for name, dag in node.items():
            if isinstance(dag, Mapping) and "tasks" in dag:
                yield joined(place, str(name)), dag

"""What records are to MLflow: a run, its parameters, metrics, tags and artifacts."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from .. import storage
from ..errors import TrainingError
from . import messages
from .mlflow_place import Store
from .records import BEGIN, FILE, METRICS, TAGS, Record
from .sender import RefusedError

KEY = "launch.run"  # the tag by which a run is found again
CHANGED = "launch.changed"
_BAD_REQUEST = 400
_LONGEST_TAG = 5000  # characters; MLflow refuses longer ones for good (newer ones from 8,000 on)


class MLflowRun:
    """A :class:`lib.tracking.sender.Sink` before MLflow's client, which every call imports.

    Args:
        store: Where the runs are.
    """

    def __init__(self, store: Store):
        self._store = store
        self._client: Any = None
        self._run = ""
        self.title = f"MLflow at {store.shown}"
        self.link = ""

    def about(self) -> Mapping[str, Any]:
        """See :class:`lib.tracking.sender.Sink`."""
        return {"kept": "mlflow", "uri": self._store.uri, "experiment": self._store.experiment}

    def send(self, records: Sequence[Record]) -> None:
        """See :class:`lib.tracking.sender.Sink`."""
        what = records[0]["what"]
        if what == BEGIN:
            self._begin(records[0])
            return
        try:
            if what == METRICS:
                self._metrics(records)
            elif what == TAGS:
                self._tags({name: text for one in records for name, text in one["tags"].items()})
            elif what == FILE:
                for one in records:
                    self._file(one["path"])
            else:
                last = records[-1]
                self._client.set_terminated(self._run, last["status"], last["at"])
        except Exception as error:
            if _is_refusal(error):
                raise RefusedError(messages.reason(error)) from error
            raise

    def _begin(self, one: Record) -> None:
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=self._store.uri)
        experiment = self._experiment(client)
        there = client.search_runs(
            [experiment], filter_string=f"tags.`{KEY}` = '{one['key']}'", max_results=1
        )
        if there:
            run = there[0]
            client.update_run(run.info.run_id, status="RUNNING")
        else:
            tags = _cut({**one["tags"], KEY: one["key"]})
            run = client.create_run(
                experiment, start_time=one["at"], tags=tags, run_name=one["name"] or None
            )
        self._client, self._run = client, run.info.run_id
        where = f"{self._store.uri.rstrip('/')}/#/experiments/{experiment}/runs/{self._run}"
        name = getattr(run.info, "run_name", "") or self._run
        self.link = f"MLflow run {name} at " + (
            where
            if self._store.is_server
            else f"{self._store.shown}, experiment {self._store.experiment}"
        )
        self._parameters(one, dict(run.data.params), resumed=bool(there))

    def _experiment(self, client: Any) -> str:
        found = client.get_experiment_by_name(self._store.experiment)
        if found is None:
            return str(client.create_experiment(self._store.experiment))
        if found.lifecycle_stage != "active":
            raise TrainingError(f"the experiment {self._store.experiment} is deleted; restore it")
        return str(found.experiment_id)

    def _parameters(self, one: Record, there: Mapping[str, str], resumed: bool) -> None:
        """MLflow lets no parameter change, so what a restart has changed becomes a tag."""
        from mlflow.entities import Param

        given: Mapping[str, str] = one["parameters"]
        new = [Param(name, value) for name, value in given.items() if name not in there]
        changed = [
            f"{name} was {there[name]}, is {value}"
            for name, value in sorted(given.items())
            if name in there and there[name] != value
        ]
        tags = dict(one["tags"]) if resumed else {}
        if changed:
            tags[CHANGED] = "; ".join(changed)
        # As a run's beginning, all of it is the same when it is sent twice.
        self._tags(tags)
        try:
            self._client.log_batch(self._run, params=new)
        except Exception as error:
            if not _is_refusal(error):
                raise
            self._one_by_one(new)

    def _one_by_one(self, parameters: Sequence[Any]) -> None:
        """All parameters but those that MLflow does not take."""
        refused = []
        for one in parameters:
            try:
                self._client.log_batch(self._run, params=[one])
            except Exception as error:
                if not _is_refusal(error):
                    raise
                refused.append(f"{one.key}: {messages.reason(error)}")
        if refused:
            raise RefusedError("; ".join(refused))

    def _metrics(self, records: Sequence[Record]) -> None:
        from mlflow.entities import Metric

        self._client.log_batch(
            self._run,
            metrics=[
                Metric(name, value, one["at"], one["steps"])
                for one in records
                for name, value in one["values"].items()
            ],
        )

    def _tags(self, tags: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag

        cut = _cut(tags)
        self._client.log_batch(self._run, tags=[RunTag(name, text) for name, text in cut.items()])

    def _file(self, path: str) -> None:
        if storage.is_remote(path):
            self._tags({"launch.model": path})
            return
        if not os.path.exists(path):  # its records were taken to another machine without it
            raise RefusedError(f"{path} is not there")
        self._client.log_artifact(self._run, path)


def _cut(tags: Mapping[str, str]) -> dict[str, str]:
    return {name: text[:_LONGEST_TAG] for name, text in tags.items()}


def _is_refusal(error: Exception) -> bool:
    """Whether the server will never take this, whenever it is sent."""
    return bool(getattr(error, "get_http_status_code", int)() == _BAD_REQUEST)

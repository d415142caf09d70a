"""What records are to MLflow: a run, its parameters, metrics, tags and artifacts."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from .. import storage
from ..errors import TrainingError
from . import messages
from .mlflow_place import EXPERIMENT_ID, Store
from .records import BEGIN, FILE, METRICS, TAGS, Record
from .sender import RefusedError

KEY = "launch.run"  # the tag by which a run is found again
CHANGED = "launch.changed"
BEGAN = "launch.began"  # the tag that says when its last start began, in milliseconds since 1970
_OF_MLFLOW = "mlflow."
_BAD_REQUEST = 400
_LONGEST_TAG = 5000  # characters; MLflow refuses longer ones for good (newer ones from 8,000 on)


class MLflowRun:
    """A :class:`lib.tracking.sender.Sink` before MLflow's client, which every call imports.

    Args:
        store: Where the runs are.
        late: Whether what is sent was kept, and so the run may have been started again since: a
            later start's end, tags and files stay.
    """

    def __init__(self, store: Store, late: bool = False):
        self._store, self._late = store, late
        self._client: Any = None
        self._run = ""
        self._is_old = False
        self._there: Mapping[str, str] = {}  # tags of a later start
        self.title = f"MLflow at {store.shown}"
        self.link = ""

    def about(self) -> Mapping[str, Any]:
        """See :class:`lib.tracking.sender.Sink`."""
        store = self._store
        numbers = {"experiment_id": store.experiment_id, "run_id": store.run_id}
        given = {name: number for name, number in numbers.items() if number}
        return {"kept": "mlflow", "uri": store.uri, "experiment": store.experiment, **given}

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
            elif not self._is_old:
                last = records[-1]
                self._client.set_terminated(self._run, last["status"], last["at"])
        except Exception as error:
            if _is_refusal(error):
                raise RefusedError(messages.reason(error)) from error
            raise

    def _begin(self, one: Record) -> None:
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=self._store.uri)
        run, is_new = self._found_or_made(client, one)
        self._client, self._run = client, run.info.run_id
        self._is_old = self._late and not is_new and _began(run) > one["at"]
        self._there = dict(run.data.tags) if self._is_old else {}
        if not is_new and not self._is_old:
            client.update_run(self._run, status="RUNNING")
        self.link = self._link(run)
        self._parameters(one, dict(run.data.params), resumed=not is_new)

    def _found_or_made(self, client: Any, one: Record) -> tuple[Any, bool]:
        """The run that somebody has made for this one, that of an earlier start, or a new one; and
        whether it is new."""
        if self._store.run_id:
            return client.get_run(self._store.run_id), False
        experiment = self._experiment(client)
        there = client.search_runs(
            [experiment], filter_string=f"tags.`{KEY}` = '{one['key']}'", max_results=1
        )
        if there:
            return there[0], False
        tags = _cut({**one["tags"], KEY: one["key"], BEGAN: str(one["at"])})
        name = one["name"] or None
        return client.create_run(experiment, start_time=one["at"], tags=tags, run_name=name), True

    def _link(self, run: Any) -> str:
        store = self._store
        name = getattr(run.info, "run_name", "") or self._run
        if not store.is_server:
            return f"MLflow run {name} at {store.shown}, experiment {store.shown_experiment}"
        experiment = run.info.experiment_id
        page = f"{store.uri.rstrip('/')}/#/experiments/{experiment}/runs/{self._run}"
        return f"MLflow run {name} at {page}"

    def _experiment(self, client: Any) -> str:
        """Its number, by MLflow's own rules: by its name, by its number, or by both."""
        name, number = self._store.experiment, self._store.experiment_id
        found = client.get_experiment_by_name(name) if name else client.get_experiment(number)
        if found is None:
            return str(client.create_experiment(name))
        if number and str(found.experiment_id) != number:
            raise TrainingError(
                f"the experiment {name} has the number {found.experiment_id} there, and "
                f"{EXPERIMENT_ID} says {number}; leave out one of the two"
            )
        if found.lifecycle_stage != "active":
            raise TrainingError(f"the experiment {name or number} is deleted; restore it")
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
        tags = {**one["tags"], KEY: one["key"], BEGAN: str(one["at"])} if resumed else {}
        if self._store.run_id:  # whoever has made the run has said where it comes from
            tags = {name: text for name, text in tags.items() if not name.startswith(_OF_MLFLOW)}
        if changed and not self._is_old:
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

        cut = _cut({name: text for name, text in tags.items() if name not in self._there})
        self._client.log_batch(self._run, tags=[RunTag(name, text) for name, text in cut.items()])

    def _file(self, path: str) -> None:
        if storage.is_remote(path):
            self._tags({"launch.model": path})
            return
        if not os.path.exists(path):  # its records were taken to another machine without it
            raise RefusedError(f"{path} is not there")
        name = os.path.basename(path)
        if self._is_old and any(one.path == name for one in self._client.list_artifacts(self._run)):
            messages.say(f"tracking: {name} of a later start is there, and stays")
            return
        self._client.log_artifact(self._run, path)


def _cut(tags: Mapping[str, str]) -> dict[str, str]:
    return {name: text[:_LONGEST_TAG] for name, text in tags.items()}


def _began(run: Any) -> int:
    """When a run's last start began; of one that does not say it, when it was made."""
    text = run.data.tags.get(BEGAN, "")
    return int(text) if text.isdigit() else int(run.info.start_time or 0)


def _is_refusal(error: Exception) -> bool:
    """Whether the server will never take this, whenever it is sent."""
    return bool(getattr(error, "get_http_status_code", int)() == _BAD_REQUEST)

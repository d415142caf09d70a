"""Sends a file of kept records, once its server is back."""

from __future__ import annotations

import os

from .. import storage
from ..errors import TrainingError
from . import kept, messages, mlflow_place, tensorboard
from .mlflow_run import MLflowRun
from .records import BEGIN, END, METRICS, Record, is_whole
from .sender import BATCH, RefusedError, Sink


def send(path: str, uri: str | None = None) -> None:
    """Sends all of the file and removes it; says what it did. Blocks until it is through.

    Args:
        path: The file.
        uri: MLflow's server or folder, where it isn't the one that the file names.

    Raises:
        TrainingError: It cannot be read, or the server does not take all of it; the file is then
            as it was.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        about, records = kept.read(storage.read(path).decode("utf-8"), folder)
        if not all(map(is_whole, records)):
            raise ValueError("a record of it is none")
        if all(one["what"] != END for one in records):
            raise ValueError("its run has no end: it was cut short")
        sink = _sink(about, uri)
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: cannot be read: {error}") from error
    except KeyError as error:
        raise TrainingError(f"{path}: cannot be read: its first line says no {error}") from error
    refused = 0
    for batch in _batches(records):
        try:
            sink.send(batch)
        except RefusedError as error:
            what = batch[0]["what"]
            if what == BEGIN:  # the run is there, and will never have more of its parameters
                what = "all of the run's parameters"
            else:
                refused += len(batch)
            messages.say(f"tracking: {sink.title} does not take {what}: {error}")
        except Exception as error:
            raise TrainingError(
                f"{sink.title}: {messages.reason(error)}. The file {path} is as it was; start "
                "this again once the server answers."
            ) from error
    if refused:
        raise TrainingError(
            f"{sink.title} did not take {refused} of {len(records)} records. All else is sent; "
            f"the file {path} is as it was."
        )
    storage.remove(path)
    messages.say(f"tracking: {len(records)} records sent, {path} removed; {sink.link}")


def _sink(about: dict[str, str], uri: str | None) -> Sink:
    if about[kept.KIND] == "tensorboard":
        tensorboard.require_writer()
        return tensorboard.EventFile(about["folder"])
    store = mlflow_place.find(_named(about, uri), None)
    mlflow_place.require_client(store, os.environ)
    return MLflowRun(store, late=True)


def _named(about: dict[str, str], uri: str | None) -> dict[str, str]:
    """What the file says, in MLflow's variables; for another server than its own without numbers,
    which belong to that one.

    Raises:
        TrainingError: Another server's experiment has no name.
    """
    name, number = about["experiment"], about.get("experiment_id", "")
    named = {mlflow_place.URI: uri or about["uri"], mlflow_place.EXPERIMENT: name}
    if not uri or mlflow_place.find({mlflow_place.URI: uri}, None).uri == about["uri"]:
        run = about.get("run_id", "")
        return {**named, mlflow_place.EXPERIMENT_ID: number, mlflow_place.RUN_ID: run}
    name = name or os.environ.get(mlflow_place.EXPERIMENT, "")
    if not name:
        raise TrainingError(
            f"the experiment's number {number} belongs to {about['uri']}; for another server say "
            f"its name as {mlflow_place.EXPERIMENT}"
        )
    return {**named, mlflow_place.EXPERIMENT: name}


def _batches(records: list[Record]) -> list[list[Record]]:
    """In their order; neighbours that are metrics go together."""
    batches: list[list[Record]] = []
    for one in records:
        last = batches[-1] if batches else []
        if one["what"] == METRICS and last and last[0]["what"] == METRICS and len(last) < BATCH:
            last.append(one)
        else:
            batches.append([one])
    return batches

"""Where MLflow's runs go: MLFLOW_TRACKING_URI as MLflow reads it, else a folder beside the model.

Everything that makes a place unusable is said before the training begins.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Mapping, MutableMapping
from urllib.parse import parse_qsl, urlsplit

from .. import storage
from ..errors import TrainingError

URI = "MLFLOW_TRACKING_URI"
EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"
EXPERIMENT_ID = "MLFLOW_EXPERIMENT_ID"
RUN_ID = "MLFLOW_RUN_ID"
DEFAULT_EXPERIMENT = "Default"  # MLflow's own
FOLDER = "mlruns"
INSTALL = "pip install mlflow-skinny"
# Without http://, which MLflow would take for a folder, or for a scheme that it does not know.
_HOST_AND_PORT = re.compile(r"(?:[\w.-]+|\[[\da-fA-F:.]+\]):\d+(?:/.*)?")
_HTTP = ("http", "https")
_SERVERS = (*_HTTP, "databricks")
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
# By which packages add schemes to MLflow's client; SageMaker's own MLflow has addresses arn:aws:...
_PLUGINS = "mlflow.tracking_store"
_SAGEMAKER, _SAGEMAKER_PLUGIN = "arn", "sagemaker-mlflow"
# Behind a question mark, by which drivers of databases are told who one is.
_WHO = ("user", "username", "uid", "password", "passwd", "pwd", "sslpassword", "odbc_connect")
# Seconds and attempts of one request: it is this package that tries again. Each can be set by the
# user.
_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_DATABRICKS_ENDPOINT_HTTP_RETRY_TIMEOUT": "30",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",  # MLflow 3.17 refuses folders without it
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",  # it warns at every attempt; why one failed is said here, once
    "GIT_PYTHON_REFRESH": "quiet",
}


@dataclass(frozen=True)
class Store:
    """A place of runs.

    Attributes:
        uri: As MLflow reads it.
        shown: The same for people.
        experiment: Its name; empty where its number alone is given.
        experiment_id: Its number; empty where its name alone is given.
        run_id: The run that somebody has made for this one; empty where none has.
    """

    uri: str
    shown: str
    experiment: str
    experiment_id: str = ""
    run_id: str = ""

    @property
    def shown_experiment(self) -> str:
        """Its name, else its number."""
        return self.experiment or self.experiment_id

    @property
    def is_server(self) -> bool:
        """Whether somebody else answers there."""
        return urlsplit(self.uri).scheme in ("http", "https")


def find(environment: Mapping[str, str], model_folder: str | None) -> Store:
    """The place that the environment names, else ``mlruns`` in the folder of the model.

    Raises:
        TrainingError: None is named, or it cannot be used; with the fix, without a credential.
    """
    name, number, run = (
        environment.get(each, "").strip() for each in (EXPERIMENT, EXPERIMENT_ID, RUN_ID)
    )
    of_run = (name or ("" if number else DEFAULT_EXPERIMENT), number, run)
    given = environment.get(URI, "").strip()
    if given:
        return Store(_checked(given), _shown(given), *of_run)
    if model_folder is None:
        raise TrainingError(
            f"--track mlflow: no place for its runs; set {URI}, or give --model-dir, in which "
            f"{FOLDER} is made then"
        )
    if storage.is_remote(model_folder):
        raise TrainingError(
            f"--track mlflow: MLflow cannot write to {model_folder}; set {URI} to a server or to "
            "a folder of this machine"
        )
    folder = os.path.abspath(os.path.join(model_folder, FOLDER))
    return Store(Path(folder).as_uri(), folder, *of_run)


def require_client(store: Store, environment: MutableMapping[str, str]) -> None:
    """Imports MLflow's client with the settings that it needs. Takes a second or two.

    Raises:
        TrainingError: It is not installed, or does not work here.
    """
    for name, value in _SETTINGS.items():
        environment.setdefault(name, value)
    try:
        import mlflow.entities
        import mlflow.tracking  # noqa: F401
    except Exception as error:  # not there, or one beside which another package is too new
        first = (str(error).splitlines() or [""])[0]
        raise TrainingError(
            f"--track mlflow: MLflow's client cannot be imported in {sys.executable}: {first}. "
            f"{INSTALL}, or name it in the file of --requirements."
        ) from error
    is_database = urlsplit(store.uri).scheme.partition("+")[0] in _DATABASES
    if is_database and importlib.util.find_spec("sqlalchemy") is None:
        raise TrainingError(
            f"--track mlflow: {store.shown} is a database, for which MLflow needs SQLAlchemy in "
            f"{sys.executable}. pip install mlflow"
        )


def _checked(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        if parts.scheme in _HTTP:
            _ = parts.port
    except ValueError:  # a bracket that nothing closes; the error may show what stands there
        raise TrainingError(f"{URI}: no address; expected http://HOST:PORT") from None
    scheme = parts.scheme.partition("+")[0]
    if "@" in parts.netloc:
        raise TrainingError(
            f"{URI}: there is a user or a password in this address, which is not shown; found "
            f"{_shown(uri)}. Take it out, and give MLFLOW_TRACKING_USERNAME and "
            "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, each by `launch --secret`."
        )
    asked = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if parts.query and (scheme in _SERVERS or not asked.isdisjoint(_WHO)):
        raise TrainingError(
            f"{URI}: there is something behind a question mark in this address, which is not "
            f"shown; found {_shown(uri)}. Give a token as MLFLOW_TRACKING_TOKEN, by "
            "`launch --secret`."
        )
    if _HOST_AND_PORT.fullmatch(uri):
        raise TrainingError(
            f"{URI}: found {uri}; expected http://{uri}, or of a folder of that name ./{uri}"
        )
    if not scheme and uri != "databricks":
        return Path(os.path.abspath(os.path.expanduser(uri))).as_uri()
    if scheme in _SERVERS and not parts.netloc and scheme != "databricks":
        raise TrainingError(f"{URI}: found {_shown(uri)}; expected http://HOST:PORT")
    if scheme == _SAGEMAKER and scheme not in _added_schemes():
        raise TrainingError(
            f"{URI}: found {_shown(uri)}; for SageMaker's MLflow the client needs a plugin, which "
            f"{sys.executable} hasn't: pip install {_SAGEMAKER_PLUGIN}, or name it in the file of "
            "--requirements"
        )
    if scheme and scheme not in (*_SERVERS, *_DATABASES, "file", *_added_schemes()):
        raise TrainingError(
            f"{URI}: found {_shown(uri)}; expected http://HOST:PORT, https://HOST, databricks, a "
            "folder, or sqlite:///FILE"
        )
    return uri


def _added_schemes() -> set[str]:
    """Those that installed packages add to MLflow's client."""
    found: Any = entry_points()
    added = found.select(group=_PLUGINS) if hasattr(found, "select") else found.get(_PLUGINS, ())
    return {one.name for one in added}


def _shown(uri: str) -> str:
    """An address without user, password and what stands behind a question mark."""
    parts = urlsplit(uri)
    netloc = parts.netloc.rpartition("@")[2]
    if not parts.scheme:
        return uri
    hidden = "***@" if "@" in parts.netloc else ""
    asked = "?***" if parts.query else ""
    return f"{parts.scheme}:{'//' if '//' in uri else ''}{hidden}{netloc}{parts.path}{asked}"

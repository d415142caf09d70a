"""Where MLflow's runs go, and which addresses are refused before the training begins."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from entrypoints.lib.errors import TrainingError
from entrypoints.lib.tracking import messages, mlflow_place, tensorboard

SECRET = "hunter2-hunter2"

REFUSED = {
    f"http://me:{SECRET}@tracking:5000": "MLFLOW_TRACKING_PASSWORD",
    f"https://{SECRET}@tracking": "launch --secret",
    f"postgresql://me:{SECRET}@database/runs": "launch --secret",
    f"databricks://{SECRET}@workspace": "launch --secret",
    f"https://tracking/?token={SECRET}": "MLFLOW_TRACKING_TOKEN",
    f"postgresql://database/runs?password={SECRET}": "launch --secret",
    f"mssql+pyodbc://database/runs?driver=ODBC&PWD={SECRET}": "launch --secret",
    f"http://[{SECRET}": "expected http://HOST:PORT",
    "http://": "expected http://HOST:PORT",
    f"http://{SECRET}:port": "expected http://HOST:PORT",
    "127.0.0.1:5000": "found 127.0.0.1:5000; expected http://127.0.0.1:5000",
    "localhost:5000/mlflow": "expected http://localhost:5000/mlflow",
    "[::1]:5000": "expected http://[::1]:5000",
    "arn:aws:sagemaker:us-east-1:1:mlflow-tracking-server/s": "pip install sagemaker-mlflow",
    "ftp://tracking/runs": "found ftp://tracking/runs; expected http://HOST:PORT",
}


@pytest.mark.parametrize(("uri", "told"), REFUSED.items())
def test_an_address_with_a_credential_or_no_meaning_is_refused_and_not_shown(uri: str, told: str):
    with pytest.raises(TrainingError) as caught:
        mlflow_place.find({"MLFLOW_TRACKING_URI": uri}, "/models")
    assert told in str(caught.value)
    assert SECRET not in str(caught.value)


TAKEN = {
    "http://tracking:5000": "http://tracking:5000",
    "https://tracking/mlflow": "https://tracking/mlflow",
    "databricks": "databricks",
    "databricks://profile": "databricks://profile",
    "databricks://scope:prefix": "databricks://scope:prefix",
    "sqlite:////runs/mlflow.db": "sqlite:////runs/mlflow.db",
    "mssql+pyodbc://database/runs?driver=ODBC": "mssql+pyodbc://database/runs?driver=ODBC",
    "/runs/127.0.0.1:5000": "file:///runs/127.0.0.1%3A5000",
    "/runs/here it is": "file:///runs/here%20it%20is",
    "file:///runs": "file:///runs",
}


@pytest.mark.parametrize(("uri", "expected"), TAKEN.items())
def test_addresses_are_those_of_mlflow(uri: str, expected: str):
    store = mlflow_place.find({"MLFLOW_TRACKING_URI": uri}, None)
    assert (store.uri, store.experiment) == (expected, "Default")
    assert store.is_server == uri.startswith("http")


def test_a_scheme_that_an_installed_plugin_adds_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    about = tmp_path / "sagemaker_mlflow-0.5.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: sagemaker-mlflow\nVersion: 0.5.0\n"
    )
    (about / "entry_points.txt").write_text(
        "[mlflow.tracking_store]\narn = sagemaker_mlflow:Store\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    uri = "arn:aws:sagemaker:us-east-1:111122223333:mlflow-tracking-server/server"
    store = mlflow_place.find({"MLFLOW_TRACKING_URI": uri}, None)
    assert (store.uri, store.is_server) == (uri, False)


def test_experiment_and_run_are_those_of_mlflows_variables():
    uri = {"MLFLOW_TRACKING_URI": "http://tracking:5000"}
    both = {"MLFLOW_EXPERIMENT_ID": "7", "MLFLOW_RUN_ID": "abc"}
    store = mlflow_place.find({**uri, **both}, None)
    assert (store.experiment, store.experiment_id, store.run_id) == ("", "7", "abc")
    assert store.shown_experiment == "7"
    named = mlflow_place.find({**uri, **both, "MLFLOW_EXPERIMENT_NAME": "digits"}, None)
    assert (named.experiment, named.experiment_id) == ("digits", "7")


def test_without_an_address_runs_lie_beside_the_model(tmp_path: Path):
    store = mlflow_place.find({"MLFLOW_EXPERIMENT_NAME": "digits"}, str(tmp_path))
    assert (store.shown, store.experiment) == (str(tmp_path / "mlruns"), "digits")
    with pytest.raises(TrainingError, match="set MLFLOW_TRACKING_URI, or give --model-dir"):
        mlflow_place.find({}, None)
    with pytest.raises(TrainingError, match="cannot write to gs://bucket/models"):
        mlflow_place.find({}, "gs://bucket/models")


def test_a_client_that_is_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch):
    for name in ("mlflow", "mlflow.entities", "mlflow.tracking"):
        monkeypatch.setitem(sys.modules, name, None)
    store = mlflow_place.find({"MLFLOW_TRACKING_URI": "http://tracking:5000"}, None)
    with pytest.raises(TrainingError) as caught:
        mlflow_place.require_client(store, {})
    assert "pip install mlflow-skinny" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_message_has_no_value_of_a_credential(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", SECRET)
    text = f"the server said {SECRET} to http://me:{SECRET[:3]}@host/"
    assert (
        messages.reason(ValueError(text)) == "ValueError: the server said *** to http://***@host/"
    )
    several = ValueError(f"cannot connect to mysql+pymysql://me:{SECRET}@{SECRET}@host/runs?a=b")
    assert SECRET not in messages.reason(several)
    refused = ValueError("request to endpoint failed with error code 401 != 200")
    assert messages.reason(refused).startswith("answers 401 (unauthorized")


def test_what_a_redirect_made_of_a_request_is_said():
    text = "API request to endpoint /runs/search failed with error code 405 != 200"
    assert messages.reason(ValueError(text)).startswith("answers 405 (method not allowed: does the")


def test_a_certificate_that_is_not_trusted_is_said():
    text = "API request failed with exception HTTPSConnectionPool(host='tracking', port=443): " * 4
    error = ValueError(f"{text}[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    assert messages.reason(error) == (
        "its certificate is not trusted (see MLFLOW_TRACKING_SERVER_CERT_PATH)"
    )


def test_a_reason_of_ours_stands_without_the_errors_type():
    assert messages.reason(TrainingError("the experiment e is deleted")) == (
        "the experiment e is deleted"
    )


def test_mlflow_says_nothing_at_each_attempt(monkeypatch: pytest.MonkeyPatch):
    for name in ("mlflow", "mlflow.entities", "mlflow.tracking"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    store = mlflow_place.find({"MLFLOW_TRACKING_URI": "databricks"}, None)
    environment = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "5"}
    mlflow_place.require_client(store, environment)
    assert environment["MLFLOW_LOGGING_LEVEL"] == "ERROR"
    assert environment["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "5"


def test_an_answer_without_a_blank_is_shortened():
    assert len(messages.reason(ValueError("a" * 2_000_000))) < 250
    assert len(messages.reason(ValueError("http://" + "a@" * 1_000_000))) < 250


def test_a_client_that_does_not_work_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "mlflow").mkdir()
    text = "raise TypeError('Descriptors cannot be created directly.\\nIf you cannot')\n"
    (tmp_path / "mlflow" / "__init__.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("mlflow", "mlflow.entities", "mlflow.tracking"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    store = mlflow_place.find({"MLFLOW_TRACKING_URI": "http://tracking:5000"}, None)
    with pytest.raises(TrainingError, match="Descriptors cannot be created") as caught:
        mlflow_place.require_client(store, {})
    assert "\n" not in str(caught.value)


def test_event_files_lie_where_the_service_looks_for_them(tmp_path: Path):
    vertex = {"AIP_TENSORBOARD_LOG_DIR": str(tmp_path / "logs")}
    assert tensorboard.find(vertex, "/models") == str(tmp_path / "logs")
    assert tensorboard.find({}, "/models", sagemaker=str(tmp_path)) == str(tmp_path)
    nowhere = str(tmp_path / "none")
    assert tensorboard.find({}, "/models", sagemaker=nowhere) == "/models/tensorboard"
    with pytest.raises(TrainingError, match="--model-dir"):
        tensorboard.find({}, None, sagemaker=nowhere)
